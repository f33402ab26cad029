/**
 * Log lines: a constant message, and values in fields. The host adds plugin, revision, key and trace,
 * and drops what is over the plugin's rate (200 lines in one call). `console` writes lines as well.
 */

export type Level = "trace" | "debug" | "info" | "warn" | "error";

/** Names and values. Strings stay as they are, other values are written as JSON. A list of pairs may have a name twice. */
export type LogFields = Readonly<Record<string, unknown>> | readonly (readonly [string, unknown])[];

/** False if the host would drop a line of this level. The other functions ask by themselves. */
export function enabled(level: Level): boolean;
/** A line of a level that is known at run time. */
export function emit(level: Level, message: string, fields?: LogFields): void;
export function trace(message: string, fields?: LogFields): void;
export function debug(message: string, fields?: LogFields): void;
export function info(message: string, fields?: LogFields): void;
export function warn(message: string, fields?: LogFields): void;
export function error(message: string, fields?: LogFields): void;
