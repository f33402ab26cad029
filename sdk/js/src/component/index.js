/**
 * The component's exports: what the entry module that `wharf build` generates hands to the host.
 * Owns the way from the contract's records to this package's and back. No error of a plugin leaves it
 * as a bare trap: `describe`, which has no way to fail, logs its error first.
 */
import "./globals.js";
import * as host from "#host";
import { text, u32, unsigned } from "../backend/values.js";
import { isRunning, start } from "../backend/state.js";
import { explainError, failureOf } from "../errors.js";
import { readConfig } from "../fields.js";
import { call, describe, isPlugin, isThenable, validate } from "../plugin.js";
import { Console } from "./console.js";
import { forget, settle, takeUnhandled } from "./promise.js";
import { explainWithStack } from "./stack.js";

/** What the plugin's configuration was read into; undefined before the first call. */
let configuration;

/** The exports `setup` and `handler` of a plugin. */
export function bind(plugin, mainFile) {
  if (!isPlugin(plugin)) throw new Error(`${mainFile}: the default export must be what definePlugin() returned`);
  const run = (change) => (delivery) => handle(plugin, change, delivery);
  return {
    setup: { validateConfig: (config) => check(plugin, config), describe: () => tell(plugin) },
    handler: { add: run("add"), update: run("update"), delete: run("delete") },
  };
}

function handle(plugin, change, delivery) {
  begin();
  try {
    // The host never changes it during the life of an instance.
    configuration ??= { value: readConfig(plugin, host.configJson()) };
    return outcome(finish(() => call(plugin, change, ownDelivery(delivery), configuration.value)));
  } catch (error) {
    if (isOutOfMemory(error)) throw error;
    throw fault(failureOf(error, explainWithStack));
  }
}

/**
 * Thrown on as it is, the error ends the instance, and the host says why: one whose memory is full of
 * what the plugin kept is of no use for the next call.
 */
function isOutOfMemory(error) {
  return error?.name === "InternalError" && error.message === "out of memory";
}

function check(plugin, config) {
  begin();
  const problems = attempt("validate failed", () => finish(() => validate(plugin, config)));
  if (problems.length > 0) throw problems.map(text);
}

function tell(plugin) {
  begin();
  return text(attempt("describe failed", () => finish(() => describe(plugin))));
}

function begin() {
  // What the modules started at their top level comes to its end in the first call.
  if (isRunning()) forget();
  start();
  Console.flush();
}

/** The result of a function of the plugin, when all that it started has come to its end. */
function finish(work) {
  try {
    const result = begun(work);
    const pending = isThenable(result);
    const value = settle(pending ? result : undefined);
    return pending ? value : result;
  } finally {
    for (const error of takeUnhandled()) {
      host.logEmit("error", "unhandled rejection", [["error", explainWithStack(error)]]);
    }
  }
}

/** What the function returns at once. If it throws, what it started before ends in this call as well. */
function begun(work) {
  try {
    return work();
  } catch (error) {
    settle();
    throw error;
  }
}

/** Logs what would otherwise be lost. */
function attempt(message, work) {
  try {
    return work();
  } catch (error) {
    host.logEmit("error", `${message}: ${explainError(error)}`, [["error", explainWithStack(error)]]);
    throw error;
  }
}

/** The runtime made the record for this call alone: it is changed in place, since every call pays for this. */
function ownDelivery(delivery) {
  const { kind, namespace, name, uid } = delivery.key;
  const apiVersion = kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
  delivery.key = { apiVersion, kind: kind.kind, namespace: namespace ?? undefined, name, uid };
  delivery.attempt = unsigned(delivery.attempt);
  delivery.queuedMs = unsigned(delivery.queuedMs);
  delivery.budgetMs = unsigned(delivery.budgetMs);
  delivery.size = unsigned(delivery.size);
  return delivery;
}

function outcome({ requeueAfterMs }) {
  return requeueAfterMs === undefined ? { tag: "done" } : { tag: "requeue-after", val: u32(requeueAfterMs) };
}

function fault({ permanent, reason, message, retryAfterMs }) {
  const val = {
    reason: text(reason),
    message: text(message),
    retryAfterMs: retryAfterMs === undefined ? undefined : u32(retryAfterMs),
  };
  return { tag: permanent ? "permanent" : "retry", val };
}
