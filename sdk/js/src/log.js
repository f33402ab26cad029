/**
 * Log lines of the plugin: a constant message, and values in fields. The host adds plugin, revision,
 * key and trace, and drops what is over the plugin's rate.
 */
import * as host from "#host";
import { describeValue, explainError } from "./errors.js";

/** False if the host would drop a line of this level. The functions below ask by themselves. */
export function enabled(level) {
  return host.logEnabled(level);
}

/** One line; `fields` is an object, or a list of pairs where a name may come twice. */
export function emit(level, message, fields = {}) {
  if (!host.logEnabled(level)) return;
  const pairs = Array.isArray(fields) ? fields : Object.entries(fields);
  host.logEmit(
    level,
    String(message),
    pairs.map(([name, value]) => [String(name), fieldText(value)]),
  );
}

export function trace(message, fields) {
  emit("trace", message, fields);
}

export function debug(message, fields) {
  emit("debug", message, fields);
}

export function info(message, fields) {
  emit("info", message, fields);
}

export function warn(message, fields) {
  emit("warn", message, fields);
}

export function error(message, fields) {
  emit("error", message, fields);
}

function fieldText(value) {
  return value instanceof Error ? explainError(value) : describeValue(value);
}
