/**
 * The host's functions in a component: the imports of every world, in this package's own types.
 * The only file that names these imports.
 */
import * as config from "wharf:plugin/config@0.1.0";
import * as event from "wharf:plugin/event@0.1.0";
import * as log from "wharf:plugin/log@0.1.0";
import * as system from "wharf:plugin/system@0.1.0";
import { text, texts, u32, unsigned, word } from "./values.js";
import { requireHost } from "./state.js";

const LEVELS = ["trace", "debug", "info", "warn", "error"];

export function eventGet(which, pointer) {
  requireHost("the event is read");
  return event.get(which, text(pointer)) ?? undefined;
}

export function eventGetMany(which, pointers) {
  requireHost("the event is read");
  return event.getMany(which, texts(pointers)).map((value) => value ?? undefined);
}

export function eventJson(which) {
  requireHost("the event is read");
  return event.json(which) ?? undefined;
}

export function eventChanged(pointers) {
  requireHost("the event is read");
  return event.changed(texts(pointers));
}

export function eventRemainingMs() {
  requireHost("the remaining time is asked for");
  return unsigned(event.remainingMs());
}

export function now() {
  requireHost("the time is asked for");
  const { seconds, nanoseconds } = system.now();
  return unsigned(seconds) * 1000 + nanoseconds / 1_000_000;
}

export function random(length) {
  requireHost("randomness is asked for");
  return system.random(u32(length));
}

export function logEnabled(level) {
  requireHost("a line is logged");
  return log.enabled(word(level, LEVELS));
}

export function logEmit(level, message, fields) {
  requireHost("a line is logged");
  log.emit(
    word(level, LEVELS),
    text(message),
    fields.map(([name, value]) => [text(name), text(value)]),
  );
}

export function configJson() {
  requireHost("the configuration is read");
  return config.json();
}

export function configGet(pointer) {
  requireHost("the configuration is read");
  return config.get(text(pointer)) ?? undefined;
}
