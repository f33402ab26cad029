/**
 * What a plugin is, and how one call of it runs: configuration read, event made, function called.
 * Knows nothing of WebAssembly.
 */
import { ConfigError, SDK_REASONS, describeValue, explainError } from "./errors.js";
import { Event } from "./event.js";
import { readConfig } from "./fields.js";
import { Outcome } from "./outcome.js";

/** More reasons than these the host refuses. */
const MAX_REASONS = 16;

const MARK = Symbol.for("wharf.dev/plugin");
const FUNCTIONS = ["config", "validate", "add", "update", "delete"];

/** Makes a plugin of its description and its functions: the default export of a plugin's main module. */
export function definePlugin(plugin) {
  for (const name of FUNCTIONS) {
    const type = typeof plugin[name];
    if (type !== "function" && type !== "undefined")
      throw new TypeError(`definePlugin: ${name} must be a function, and is ${type}`);
  }
  if (typeof plugin.add !== "function") throw new TypeError("definePlugin: the function add is missing");
  if (plugin.describe === undefined) throw new TypeError("definePlugin: describe is missing");
  return Object.freeze({ ...plugin, [MARK]: true });
}

/** Was this made by `definePlugin`? */
export function isPlugin(value) {
  return value?.[MARK] === true;
}

/** One call with a configuration that `readConfig` made: its outcome, or a promise of it. */
export function call(plugin, change, delivery, config) {
  const run = change === "update" ? (plugin.update ?? plugin.add) : plugin[change];
  const result = run?.call(plugin, new Event(change, delivery), config);
  return isThenable(result) ? result.then(outcomeOf) : outcomeOf(result);
}

/** What is wrong with a configuration, one sentence each, or a promise of it. */
export function validate(plugin, configText) {
  let result;
  try {
    const config = readConfig(plugin, configText);
    result = plugin.validate?.(config);
  } catch (error) {
    return problemsOf(error);
  }
  return isThenable(result) ? result.then(sentences, problemsOf) : sentences(result);
}

/** The JSON text of the description. */
export function describe(plugin) {
  const description = typeof plugin.describe === "function" ? plugin.describe() : plugin.describe;
  const reasons = new Set([...(description.reasons ?? []), ...SDK_REASONS]);
  return JSON.stringify({ ...description, reasons: [...reasons].slice(0, MAX_REASONS) });
}

export function isThenable(value) {
  return typeof value?.then === "function";
}

function outcomeOf(result) {
  if (result === undefined) return Outcome.done();
  if (result instanceof Outcome) return result;
  throw new TypeError(
    `the handler returned ${describeValue(result)}: return Outcome.done(), Outcome.requeueAfter(ms) or nothing`,
  );
}

function sentences(problems) {
  return problems === undefined ? [] : Array.from(problems, describeValue);
}

function problemsOf(error) {
  return error instanceof ConfigError ? error.problems : [explainError(error)];
}
