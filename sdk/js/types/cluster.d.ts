/**
 * The cluster, as far as the Plugin document grants it: reads, writes and Kubernetes Events under the
 * plugin's own identity. Every function but `recordEvent` throws an `ApiError` where it fails.
 */
import type { Kind, KubeObject, ObjectRef } from "./index.js";

export interface ReadOptions {
  /** Pointers to keep; empty: everything. */
  fields?: readonly string[] | undefined;
  /** From the API server, not from the host's cache. */
  live?: boolean | undefined;
}

export interface ListOptions extends ReadOptions {
  /** Absent: all namespaces, which must be granted. */
  namespace?: string | undefined;
  /** A label selector as kubectl takes it. */
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
  /** Items of a page at most; a page may be shorter. */
  limit?: number | undefined;
  /** Of the page before; absent for the first page. */
  continueToken?: string | undefined;
}

export interface Page<T> {
  items: T[];
  /** For the next page; absent on the last one. */
  continueToken: string | undefined;
}

export interface WriteOptions {
  /** Everything but the storing. */
  dryRun?: boolean | undefined;
  /** `apply` only: take over fields that another manager owns. */
  force?: boolean | undefined;
  /** Refuse if the live object has another one. */
  ifResourceVersion?: string | undefined;
  /** Only `status` so far, by `apply` and `mergePatch`. */
  subresource?: string | undefined;
  /** Pointers to keep of the answer; empty: only the new resourceVersion. */
  fields?: readonly string[] | undefined;
}

export interface Written<T> {
  /** Of the object as stored. */
  resourceVersion: string;
  /** The object as stored, cut to `WriteOptions.fields`; absent without them. */
  object: T | undefined;
}

export interface DeleteOptions {
  dryRun?: boolean | undefined;
  /** Refuse if the live object has another one; the target's by default. */
  ifUid?: string | undefined;
  ifResourceVersion?: string | undefined;
  /** What becomes of the objects that it owns: `background` by default. */
  propagation?: "background" | "foreground" | "orphan" | undefined;
}

/** One object. Kinds that the plugin subscribes to come from the host's cache. */
export function get<T = KubeObject>(target: ObjectRef, options?: ReadOptions): T;
/** One page of objects; `listAll` follows the pages. */
export function list<T = KubeObject>(kind: Kind, options?: ListOptions): Page<T>;
/** All objects, in the plugin's memory at once: ask for few fields where there are many. */
export function listAll<T = KubeObject>(kind: Kind, options?: ListOptions): T[];
/** Makes an object. A string is taken as its JSON text. */
export function create<T = KubeObject>(object: object | string, options?: WriteOptions): Written<T>;
/**
 * Server-side apply: the object has these fields afterwards, and lacks those that the plugin applied
 * before and left out now.
 */
export function apply<T = KubeObject>(object: object | string, options?: WriteOptions): Written<T>;
/** A JSON merge patch: null removes. */
export function mergePatch<T = KubeObject>(
  target: ObjectRef,
  patch: object | string,
  options?: WriteOptions,
): Written<T>;
/** Deletes an object; only this very one if `target` has a uid. */
declare function remove(target: ObjectRef, options?: DeleteOptions): void;
export { remove as delete };
/**
 * A Kubernetes Event about an object: what `kubectl describe` shows. The host folds repeats and limits
 * the rate. Never fails: without the grant nothing happens but a line in the host's log.
 */
export function recordEvent(about: ObjectRef, type: "Normal" | "Warning", reason: string, message: string): void;
