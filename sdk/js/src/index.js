/**
 * What a plugin author imports. Owns the list of public names; has no code of its own.
 */
export * as cluster from "./cluster.js";
export * as config from "./config.js";
export * as log from "./log.js";
export * as system from "./system.js";
export { ApiError, ConfigError, ReadError } from "./errors.js";
export { Failure, Outcome } from "./outcome.js";
export { definePlugin } from "./plugin.js";
