/**
 * The reader that a plugin's `config` function gets. The fields that the function asks for are the
 * known ones; all others are refused.
 */
import { ConfigError } from "./errors.js";
import { kindOf } from "./event.js";

/** The plugin's own form of a configuration. Throws a ConfigError with all that is wrong. */
export function readConfig(plugin, text) {
  const value = JSON.parse(text);
  if (!isObject(value)) throw new ConfigError([`config: it must be an object, and is ${kindOf(value)}`]);
  const problems = [];
  const fields = new Fields(value, "", problems);
  const config = plugin.config?.(fields);
  fields.refuseUnknown();
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(config);
}

/** One object of the configuration, read field by field. What is wrong is collected, not thrown. */
export class Fields {
  #value;
  #path;
  #problems;
  #known = new Set();

  constructor(value, path, problems) {
    this.#value = value;
    this.#path = path;
    this.#problems = problems;
  }

  string(name, fallback) {
    return this.#typed(name, fallback, "", "a string", (value) => typeof value === "string");
  }

  integer(name, fallback) {
    return this.#typed(name, fallback, 0, "a whole number", Number.isSafeInteger);
  }

  number(name, fallback) {
    return this.#typed(name, fallback, 0, "a number", (value) => typeof value === "number");
  }

  boolean(name, fallback) {
    return this.#typed(name, fallback, false, "true or false", (value) => typeof value === "boolean");
  }

  strings(name, fallback) {
    const fits = (value) => Array.isArray(value) && value.every((item) => typeof item === "string");
    return this.#typed(name, fallback, [], "a list of strings", fits);
  }

  /** Any JSON value; `undefined` if the field is absent. */
  value(name) {
    this.#known.add(name);
    return Object.hasOwn(this.#value, name) ? this.#value[name] : undefined;
  }

  /** The whole object as it is; then no field is unknown. */
  all() {
    for (const name of Object.keys(this.#value)) this.#known.add(name);
    return this.#value;
  }

  /** An object, read by a function of its own. An absent one is read as an empty one. */
  object(name, read) {
    return this.#nested(this.#typed(name, {}, {}, "an object", isObject), `${this.#path}${name}.`, read);
  }

  /** A list of objects, each read by the same function. An absent one is empty. */
  objects(name, read) {
    const fits = (value) => Array.isArray(value) && value.every(isObject);
    const items = this.#typed(name, [], [], "a list of objects", fits);
    return items.map((item, index) => this.#nested(item, `${this.#path}${name}[${index}].`, read));
  }

  /** Adds to what is wrong with a field. */
  problem(name, text) {
    this.#problems.push(`${this.#path}${name}: ${text}`);
  }

  /** Every field that nobody asked for is a problem: most are typing errors. */
  refuseUnknown() {
    const known = [...this.#known].sort();
    for (const name of Object.keys(this.#value)) {
      if (this.#known.has(name)) continue;
      this.problem(
        name,
        known.length === 0 ? "unknown field; there are none" : `unknown field; known are ${known.join(", ")}`,
      );
    }
  }

  #nested(value, path, read) {
    const fields = new Fields(value, path, this.#problems);
    const result = read(fields);
    fields.refuseUnknown();
    return result;
  }

  #typed(name, fallback, placeholder, wanted, fits) {
    const value = this.value(name);
    if (value === undefined) {
      if (fallback !== undefined) return fallback;
      this.problem(name, `it is missing, and must be ${wanted}`);
      return placeholder;
    }
    if (fits(value)) return value;
    this.problem(name, `it must be ${wanted}, and is ${kindOf(value)}`);
    return placeholder;
  }
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
