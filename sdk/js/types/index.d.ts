/**
 * Write wharf plugins in JavaScript and TypeScript.
 *
 * A plugin is the default export of the package's main module: what `definePlugin` makes of a
 * description and a few functions. Outside of a component the same module runs against the mock of
 * `@wharf-dev/sdk/testing`.
 */

export * as cluster from "./cluster.js";
export * as config from "./config.js";
export * as log from "./log.js";
export * as system from "./system.js";

import type { Fields } from "./config.js";

/** A kind, as objects name it. */
export interface Kind {
  /** `v1`, `apps/v1`. */
  readonly apiVersion: string;
  /** `ConfigMap`. */
  readonly kind: string;
}

/** One object. */
export interface ObjectRef extends Kind {
  /** Absent for cluster-scoped kinds. Left out for a namespaced kind, the plugin's own namespace is meant. */
  readonly namespace?: string | undefined;
  readonly name: string;
  /** Which of the objects that have the name one after the other; empty or absent when not known. */
  readonly uid?: string | undefined;
}

/** Any Kubernetes object. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
}

/** What every object has under `metadata`, as far as plugins need it. */
export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  [field: string]: unknown;
}

/** Which function of the plugin is called. */
export type Change = "add" | "update" | "delete";

/** Why the host calls. Several changes may have been folded into one call, which then has the cause of the last of them. */
export type Cause =
  | "initial-list"
  | "watch"
  | "resync"
  | "requeue"
  | "retry"
  | "reload"
  | "changed-offline"
  | "related"
  | "manual"
  | "schedule";

/** Why `delete` is called; `none` in the other functions. */
export type Removal = "none" | "gone" | "unmatched" | "replaced";

/** What the host says of a call. */
export interface Delivery {
  /** The object that the call is for. */
  readonly key: ObjectRef & { readonly uid: string };
  /** Its `metadata.resourceVersion`; compare for equality only. Empty if there is no object. */
  readonly resourceVersion: string;
  /** `metadata.deletionTimestamp` is set: finalizers are still pending. */
  readonly deleting: boolean;
  /** The name of the subscription that the call is for. */
  readonly subscription: string;
  readonly removal: Removal;
  /** Only in `delete`: the delete itself was missed, and the current object is an older state. */
  readonly finalStateUnknown: boolean;
  readonly cause: Cause;
  /** 1, plus the calls for this key that failed or were interrupted since the last one that succeeded. */
  readonly attempt: number;
  /** Milliseconds that the key waited in the queue. */
  readonly queuedMs: number;
  /** Milliseconds of wall time that this call may take. */
  readonly budgetMs: number;
  /** Bytes of the current object's JSON; 0 if it is absent. */
  readonly size: number;
  /** W3C traceparent; empty when not sampled. */
  readonly traceparent: string;
}

/** How objects are read. The typed functions throw a `ReadError` where something else is; null counts as absent. */
export interface Reader {
  /** The value at an RFC 6901 pointer; `undefined` if nothing is there. Its type is not checked. */
  get<T = unknown>(pointer: string): T | undefined;
  /** The JSON text at a pointer, as the host has it: numbers keep all digits. */
  raw(pointer: string): string | undefined;
  /** The whole object; `undefined` if it is absent. Costs its size: prefer `get`. */
  object<T = KubeObject>(): T | undefined;
  string(pointer: string): string | undefined;
  /** A whole number, written as one: not 1.0, not 1e3. Beyond 2^53 it is as near as JavaScript comes; see `raw`. */
  integer(pointer: string): number | undefined;
  number(pointer: string): number | undefined;
  boolean(pointer: string): boolean | undefined;
  strings(pointer: string): string[] | undefined;
  label(key: string): string | undefined;
  annotation(key: string): string | undefined;
}

/** The object of the event as it is or as it was. */
export interface View extends Reader {
  /** The values at several pointers in one crossing; as many as there are pointers, of which the host looks up 256. */
  getMany<T = unknown>(pointers: readonly string[]): (T | undefined)[];
  /** `raw` for several pointers in one crossing. */
  rawMany(pointers: readonly string[]): (string | undefined)[];
  /** The whole object as JSON text. */
  json(): string | undefined;
}

/** A change of one object. Only useful during the call that it was made for. Reads the current object. */
export interface Event extends Reader {
  readonly change: Change;
  readonly delivery: Delivery;
  /** The object that the call is for. */
  readonly key: Delivery["key"];
  readonly name: string;
  /** Absent for cluster-scoped kinds. */
  readonly namespace: string | undefined;
  /** The object now; in `delete` its final state, which may be absent after a restart of the host. */
  readonly current: View;
  /** The object at the last successful call. Absent in `add`, and maybe after a restart of the host. */
  readonly previous: View;
  /** Does what is at a pointer differ between previous and current? True where there is no previous. */
  changed(pointer: string): boolean;
  /** `changed` for at least one of several pointers, in one crossing. */
  changedAny(pointers: readonly string[]): boolean;
  /** `changed` for each of several pointers, in one crossing. */
  changedEach(pointers: readonly string[]): boolean[];
  /** Milliseconds of wall time left before the host ends this call. */
  remainingMs(): number;
}

/** A call that succeeded. */
export class Outcome {
  private constructor();
  /** Forget the key until it changes again. */
  static done(): Outcome;
  /** Call again after so many milliseconds even if nothing changes; at most 49 days. */
  static requeueAfter(ms: number): Outcome;
  readonly requeueAfterMs: number | undefined;
}

/** A call that failed, as the plugin itself says: throw it. */
export class Failure extends Error {
  private constructor();
  /**
   * Try again, with the queue's backoff or not before `afterMs`. `reason` is one CamelCase word and a
   * metric label: list it in the description, else it counts as `Other`.
   */
  static retry(reason: string, message: string, options?: FailureOptions): Failure;
  /** Do not try again until the object changes. */
  static permanent(reason: string, message: string, options?: FailureOptions): Failure;
  /** Not before so many milliseconds, instead of the queue's backoff. Without effect on a permanent failure. */
  after(ms: number): this;
  readonly permanent: boolean;
  readonly reason: string;
  readonly retryAfterMs: number | undefined;
}

export interface FailureOptions {
  /** For a retry: not before so many milliseconds. */
  afterMs?: number;
  /** The error behind it. */
  cause?: unknown;
}

/** A part of the object does not have the asked for type. Not caught, it is a permanent failure `ObjectInvalid`. */
export class ReadError extends Error {
  constructor(pointer: string, problem: string);
  readonly pointer: string;
}

/** The configuration does not fit. Not caught, it is a permanent failure `ConfigInvalid`. */
export class ConfigError extends Error {
  constructor(problems: readonly string[]);
  readonly problems: readonly string[];
}

/** What can be wrong with a use of the cluster. */
export type ApiErrorCode =
  | "not-granted"
  | "forbidden"
  | "not-found"
  | "conflict"
  | "already-exists"
  | "invalid"
  | "throttled"
  | "unavailable"
  | "too-large";

/** Why a use of the cluster failed. Not caught, it is a retry. */
export class ApiError extends Error {
  constructor(code: ApiErrorCode, text?: string, retryAfterMs?: number);
  readonly code: ApiErrorCode;
  /** What the host or the API server said, where it said something. */
  readonly text: string | undefined;
  /** Only with `throttled`. */
  readonly retryAfterMs: number | undefined;
}

/** What the plugin is called and what it asks for, in the words of the Plugin document. */
export interface Description {
  name: string;
  version: string;
  /** Failure reasons that shall count by themselves in metrics: 8 at most, besides this package's own. */
  reasons?: readonly string[];
  subscribe: readonly Subscription[];
  limits?: Limits;
}

/** One kind that the plugin asks to be told about. */
export interface Subscription extends Kind {
  /** How the Plugin document refers to it. */
  name: string;
  labelSelector?: string;
  /** `metadata.name` and `metadata.namespace`. */
  fieldSelector?: string;
  /** The functions that are called; all by default. Empty: the kind is cached for reading, and never delivered. */
  events?: readonly Change[];
  /** Only changes of a value at one of these pointers count: `/spec`, `/metadata/labels`. */
  onlyIfChanged?: readonly string[];
  /** Only changes count for which this CEL expression over `object` and `old` is true; `old` is null where there is nothing to compare with. */
  filter?: string;
  /** Changes that the plugin makes itself do not count. */
  ignoreOwnWrites?: boolean;
  /** A change calls the handler for another object that this one names, with cause `related`. */
  map?: Mapping;
}

/** The name of the subscription that is called for, and how its object is found. */
export type Mapping = { to: string } & (
  | { owner: "any" | "controller" }
  | { label: string }
  | { annotation: string }
  | { field: string }
);

/** What the plugin wishes for; the document decides. */
export interface Limits {
  /** `32Mi` */
  memory?: string;
  /** Wall time of one call: `2s`. */
  deadline?: string;
  /** Processor time of one call: `100ms`. */
  cpu?: string;
  /** Calls at the same time. */
  concurrency?: number;
}

/** What a handler's function returns; nothing means done. It may be async: all that it started ends before the call does. */
export type Result = Outcome | void | Promise<Outcome | void>;

/**
 * A plugin: `C` is what its function `config` makes of the configuration.
 *
 * Calls for one key never overlap; calls for different keys may run at the same time in different
 * instances, and the host throws instances away: keep nothing in module variables that cannot be made
 * again. Delivery is at least once, so every function must be fine with being called again.
 */
export interface Plugin<C = undefined> {
  /** A function may look at `config.get`; it must work without a configuration too. Effects refuse in it. */
  describe: Description | (() => Description);
  /**
   * Reads the configuration, once per instance. Fields that it does not ask for are refused, and all
   * that is wrong is reported at once. Without this function the configuration must be empty.
   */
  config?(fields: Fields): C;
  /** Checks a configuration beyond its types: what is wrong, one sentence each. */
  validate?(config: C): readonly string[] | void | Promise<readonly string[] | void>;
  /** The key was not known to this plugin, and the object exists. */
  add(event: Event, config: C): Result;
  /** The object changed since the last successful call, or it is time again. The same as `add` unless written. */
  update?(event: Event, config: C): Result;
  /** The object is gone, no longer matches, or was replaced: see `event.delivery.removal`. Does nothing unless written. */
  delete?(event: Event, config: C): Result;
}

/** Makes a plugin: the default export of the package's main module. */
export function definePlugin<C = undefined>(plugin: Plugin<C>): Plugin<C>;

export type { Fields } from "./config.js";
