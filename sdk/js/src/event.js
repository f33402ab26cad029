/**
 * The event of the running call: the delivery, and access to the object now and as it was. The
 * object's bytes stay on the host until asked for.
 */
import * as host from "#host";
import { ReadError } from "./errors.js";

/** The object of the event as it is or as it was. */
export class View {
  #which;

  constructor(which) {
    this.#which = which;
  }

  /** The value at an RFC 6901 pointer; `undefined` if nothing is there. Its type is not checked. */
  get(pointer) {
    const text = this.raw(pointer);
    return text === undefined ? undefined : JSON.parse(text);
  }

  /** The JSON text at a pointer, as the host has it: numbers keep all digits. */
  raw(pointer) {
    return host.eventGet(this.#which, pointer);
  }

  /** The values at several pointers in one crossing; as many as there are pointers. */
  getMany(pointers) {
    return this.rawMany(pointers).map((text) => (text === undefined ? undefined : JSON.parse(text)));
  }

  /** `raw` for several pointers in one crossing. */
  rawMany(pointers) {
    return host.eventGetMany(this.#which, pointers);
  }

  /** The whole object; `undefined` if it is absent. Costs its size: prefer `get`. */
  object() {
    const text = this.json();
    return text === undefined ? undefined : JSON.parse(text);
  }

  /** The whole object as JSON text. */
  json() {
    return host.eventJson(this.#which);
  }

  /** A string; `undefined` if nothing is there, or null. Throws a ReadError if something else is there. */
  string(pointer) {
    return this.#typed(pointer, "a string", isString);
  }

  /** A whole number, written as one: not 1.0, not 1e3. Beyond 2^53 it is as near as JavaScript comes; see `raw`. */
  integer(pointer) {
    const text = this.raw(pointer);
    if (text === undefined || text === "null") return undefined;
    // As in the SDKs of other languages, 1.0 and 1e3 are none: JSON.parse would not show the difference.
    const value = /^-?\d+$/.test(text) ? Number(text) : Number.NaN;
    if (Number.isFinite(value)) return value;
    throw new ReadError(pointer, `it must be a whole number in plain digits, and is ${shown(text)}`);
  }

  /** A number. */
  number(pointer) {
    return this.#typed(pointer, "a number", (value) => typeof value === "number");
  }

  /** True or false. */
  boolean(pointer) {
    return this.#typed(pointer, "true or false", (value) => typeof value === "boolean");
  }

  /** A list of strings. */
  strings(pointer) {
    return this.#typed(pointer, "a list of strings", (value) => Array.isArray(value) && value.every(isString));
  }

  /** A label. */
  label(key) {
    return this.string(`/metadata/labels/${escape(key)}`);
  }

  /** An annotation. */
  annotation(key) {
    return this.string(`/metadata/annotations/${escape(key)}`);
  }

  #typed(pointer, wanted, fits) {
    const value = this.get(pointer) ?? undefined;
    if (value === undefined || fits(value)) return value;
    throw new ReadError(pointer, `it must be ${wanted}, and is ${kindOf(value)}`);
  }
}

const CURRENT = new View("current");
const PREVIOUS = new View("previous");

/** A change of one object. Only useful during the call that it was made for. */
export class Event {
  constructor(change, delivery) {
    this.change = change;
    this.delivery = delivery;
    this.current = CURRENT;
    this.previous = PREVIOUS;
  }

  get key() {
    return this.delivery.key;
  }

  get name() {
    return this.delivery.key.name;
  }

  get namespace() {
    return this.delivery.key.namespace;
  }

  get(pointer) {
    return this.current.get(pointer);
  }

  raw(pointer) {
    return this.current.raw(pointer);
  }

  object() {
    return this.current.object();
  }

  string(pointer) {
    return this.current.string(pointer);
  }

  integer(pointer) {
    return this.current.integer(pointer);
  }

  number(pointer) {
    return this.current.number(pointer);
  }

  boolean(pointer) {
    return this.current.boolean(pointer);
  }

  strings(pointer) {
    return this.current.strings(pointer);
  }

  label(key) {
    return this.current.label(key);
  }

  annotation(key) {
    return this.current.annotation(key);
  }

  /** Does what is at a pointer differ between previous and current? True where there is no previous. */
  changed(pointer) {
    return host.eventChanged([pointer])[0];
  }

  /** `changed` for at least one of several pointers, in one crossing. */
  changedAny(pointers) {
    return host.eventChanged(pointers).includes(true);
  }

  /** `changed` for each of several pointers, in one crossing. */
  changedEach(pointers) {
    return host.eventChanged(pointers);
  }

  /** Milliseconds of wall time left before the host ends this call. */
  remainingMs() {
    return host.eventRemainingMs();
  }
}

/** What a JSON value is, for an error message. */
export function kindOf(value) {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return (
    { string: "a string", number: "a number", boolean: "a boolean", object: "an object" }[typeof value] ?? typeof value
  );
}

/** A value in an error message: a number is short, and says more than its type. */
function shown(text) {
  return /^[-\d]/.test(text) && text.length <= 32 ? text : kindOf(JSON.parse(text));
}

function isString(value) {
  return typeof value === "string";
}

/** One reference token of a pointer. */
function escape(key) {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}
