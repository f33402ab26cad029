/** The plugin's configuration: `spec.config` of the Plugin document. Fixed for the life of an instance. */

/** The whole configuration as JSON text; `{}` where the document has none. */
export function json(): string;
/** The value at an RFC 6901 pointer; `undefined` if nothing is there. Its type is not checked. */
export function get<T = unknown>(pointer: string): T | undefined;
/** The JSON text at a pointer. */
export function raw(pointer: string): string | undefined;

/**
 * One object of the configuration, read field by field. A field that is absent gives the fallback;
 * without a fallback it is a problem. What is wrong is collected and reported at once.
 */
export interface Fields {
  string(name: string, fallback?: string): string;
  /** A whole number that JavaScript holds exactly. */
  integer(name: string, fallback?: number): number;
  number(name: string, fallback?: number): number;
  boolean(name: string, fallback?: boolean): boolean;
  strings(name: string, fallback?: readonly string[]): readonly string[];
  /** Any JSON value; `undefined` if the field is absent. */
  value<T = unknown>(name: string): T | undefined;
  /** The whole object as it is; then no field is unknown. */
  all<T = Record<string, unknown>>(): T;
  /** An object, read by a function of its own. An absent one is read as an empty one. */
  object<T>(name: string, read: (fields: Fields) => T): T;
  /** A list of objects, each read by the same function. An absent one is empty. */
  objects<T>(name: string, read: (fields: Fields) => T): T[];
  /** Adds to what is wrong with a field. */
  problem(name: string, text: string): void;
}
