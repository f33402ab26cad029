/**
 * The host's functions outside of a component: the mock that `@wharf-dev/sdk/testing` enters for a
 * call. Outside of a call everything is absent.
 */
import { AsyncLocalStorage } from "node:async_hooks";

const LEVELS = ["trace", "debug", "info", "warn", "error"];
const running = new AsyncLocalStorage();

/** Makes a call, during which the host's functions work on this state; also in what it awaits. */
export function enter(state, call) {
  return running.run(state, call);
}

/** The state of the running call. */
export function current() {
  return running.getStore();
}

export function eventGet(which, pointer) {
  return textAt(current()?.revisions[which], pointer);
}

export function eventGetMany(which, pointers) {
  return Array.from(pointers, (pointer) => eventGet(which, pointer));
}

export function eventJson(which) {
  return eventGet(which, "");
}

export function eventChanged(pointers) {
  const revisions = current()?.revisions ?? {};
  const differs = (pointer) => textAt(revisions.current, pointer) !== textAt(revisions.previous, pointer);
  return Array.from(pointers, (pointer) => revisions.previous === undefined || differs(pointer));
}

export function eventRemainingMs() {
  const state = current();
  if (state === undefined) return 0;
  tick(state);
  return Math.max(state.remainingMs, 0);
}

export function now() {
  const state = current();
  if (state === undefined) return 0;
  tick(state);
  return state.nowMs;
}

/** The same bytes in every run of a test. */
export function random(length) {
  const state = current();
  const bytes = new Uint8Array(Math.min(length, 65_536));
  if (state === undefined) return bytes;
  return bytes.map(() => {
    state.seed = (Math.imul(state.seed, 1_664_525) + 1_013_904_223) >>> 0;
    return state.seed >>> 24;
  });
}

export function logEnabled(level) {
  const state = current();
  return state !== undefined && LEVELS.indexOf(level) >= LEVELS.indexOf(state.logLevel);
}

export function logEmit(level, message, fields) {
  if (logEnabled(level)) current().logs.push({ level, message, fields: Object.fromEntries(fields) });
}

export function configJson() {
  return JSON.stringify(current()?.config ?? {});
}

export function configGet(pointer) {
  return textAt(current()?.config, pointer);
}

/** The value at an RFC 6901 pointer; `undefined` if there is none. */
export function valueAt(value, pointer) {
  let place = value;
  if (pointer !== "" && !pointer.startsWith("/")) return undefined;
  for (const token of pointer.split("/").slice(1)) {
    const name = token.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof place !== "object" || place === null || !Object.hasOwn(place, name)) return undefined;
    place = place[name];
  }
  return place;
}

function textAt(value, pointer) {
  const found = value === undefined ? undefined : valueAt(value, pointer);
  return found === undefined ? undefined : JSON.stringify(found);
}

/** Time goes on by a millisecond with every look at it, so that waiting loops end. */
function tick(state) {
  state.nowMs += 1;
  state.remainingMs -= 1;
}
