/**
 * The cluster, as far as the Plugin document grants it: reads, writes and Kubernetes Events under
 * the plugin's own identity. Every call crosses to the host; all of them but reads from its cache
 * also cross the network. What fails throws an ApiError.
 */
import * as host from "#cluster";
import { ApiError } from "./errors.js";

const EVENT_TYPES = { Normal: "normal", Warning: "warning" };

/** One object. Kinds that the plugin subscribes to come from the host's cache. */
export function get(target, options = {}) {
  const { fields = [], live = false } = options;
  return JSON.parse(attempt(() => host.get(gvk(target), target.namespace, target.name, fields, live)));
}

/** One page of objects; `listAll` follows the pages. */
export function list(kind, options = {}) {
  const page = attempt(() =>
    host.listObjects(gvk(kind), {
      namespace: options.namespace,
      labelSelector: options.labelSelector ?? "",
      fieldSelector: options.fieldSelector ?? "",
      fields: options.fields ?? [],
      live: options.live ?? false,
      limit: options.limit ?? 0,
      continueToken: options.continueToken ?? "",
    }),
  );
  return { items: page.items.map((text) => JSON.parse(text)), continueToken: page.continueToken || undefined };
}

/** All objects, page by page, in the plugin's memory at once: ask for few fields where there are many. */
export function listAll(kind, options = {}) {
  const all = [];
  let continueToken = options.continueToken;
  do {
    const page = list(kind, { ...options, continueToken });
    for (const item of page.items) all.push(item);
    continueToken = page.continueToken;
  } while (continueToken !== undefined);
  return all;
}

/** Makes an object. A string is taken as its JSON text. */
export function create(object, options = {}) {
  return written(attempt(() => host.create(text(object), writeOptions(options))));
}

/** Server-side apply: the object has these fields afterwards, and lacks those that were applied before and left out now. */
export function apply(object, options = {}) {
  return written(attempt(() => host.apply(text(object), writeOptions(options))));
}

/** A JSON merge patch. */
export function mergePatch(target, patch, options = {}) {
  return written(attempt(() => host.mergePatch(reference(target), text(patch), writeOptions(options))));
}

/** Deletes an object; only this very one if `target` has a uid. */
function remove(target, options = {}) {
  attempt(() =>
    host.remove(reference(target), {
      dryRun: options.dryRun ?? false,
      ifUid: options.ifUid ?? target.uid ?? "",
      ifResourceVersion: options.ifResourceVersion ?? "",
      propagation: options.propagation ?? "background",
    }),
  );
}
export { remove as delete };

/** A Kubernetes Event about an object. Without the grant nothing happens but a line in the host's log. */
export function recordEvent(about, type, reason, message) {
  if (!Object.hasOwn(EVENT_TYPES, type))
    throw new TypeError(`an Event's type is Normal or Warning, not ${String(type)}`);
  host.recordEvent(reference(about), EVENT_TYPES[type], String(reason), String(message));
}

function writeOptions({ dryRun = false, force = false, ifResourceVersion = "", subresource, fields = [] }) {
  return { dryRun, force, ifResourceVersion, subresource, fields };
}

function written({ resourceVersion, object }) {
  return { resourceVersion, object: object ? JSON.parse(object) : undefined };
}

function text(object) {
  return typeof object === "string" ? object : JSON.stringify(object);
}

function reference(target) {
  return { kind: gvk(target), namespace: target.namespace, name: target.name, uid: target.uid ?? "" };
}

function gvk({ apiVersion, kind }) {
  if (typeof apiVersion !== "string" || typeof kind !== "string")
    throw new TypeError("an object is named by apiVersion, kind and name");
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  return { group, version, kind };
}

/** The contract's errors come as `payload` of what is thrown. */
function attempt(call) {
  try {
    return call();
  } catch (error) {
    const payload = error?.payload;
    if (typeof payload?.tag !== "string") throw error;
    throw typeof payload.val === "number"
      ? new ApiError(payload.tag, undefined, payload.val >>> 0)
      : new ApiError(payload.tag, payload.val ?? undefined);
  }
}
