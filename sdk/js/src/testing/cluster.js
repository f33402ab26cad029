/**
 * The mock's cluster: objects by kind and name, with the API server's answers for what is missing,
 * taken or changed. One field manager.
 */
import { apiVersionOf } from "../backend/mock-cluster.js";
import { valueAt } from "../backend/mock.js";
import { ApiError } from "../errors.js";
import { keep, overlay, patch, prune } from "./merge.js";
import { matches } from "./selector.js";

export class Cluster {
  missingNamespaces = new Set();
  #objects = new Map();
  #lastVersion = 0;

  /** An object comes or changes from outside. */
  put(object) {
    const key = keyOf(reference(object));
    this.#store(key, structuredClone(object), this.#objects.get(key)?.applied);
  }

  remove(target) {
    this.#objects.delete(keyOf(target));
  }

  /** An object, as a test looks at it. */
  peek(target) {
    const stored = this.#objects.get(keyOf(target));
    return stored === undefined ? undefined : structuredClone(stored.object);
  }

  read({ kind, namespace, name }, fields) {
    const object = this.peek({ apiVersion: apiVersionOf(kind), kind: kind.kind, namespace, name });
    if (object === undefined) throw new ApiError("not-found");
    return JSON.stringify(keep(object, fields));
  }

  /** Objects of a page, and the next page's token: the number of objects to leave out. */
  list(kind, options) {
    const wanted = ({ apiVersion, kind: of, metadata }) =>
      apiVersion === apiVersionOf(kind) &&
      of === kind.kind &&
      (options.namespace === undefined || metadata.namespace === options.namespace);
    const found = [...this.#objects.entries()]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, stored]) => stored.object)
      .filter((object) => wanted(object) && selected(object, options));
    const start = Number(options.continueToken);
    if (!Number.isInteger(start)) throw new ApiError("invalid", "the continue token is not one of this host");
    const end = options.limit === 0 ? found.length : start + options.limit;
    return {
      items: found.slice(start, end).map((object) => JSON.stringify(keep(object, options.fields))),
      continueToken: end < found.length ? String(end) : "",
    };
  }

  /** Create, apply or merge patch. */
  write(state, operation, to, text, options) {
    const body = parse(text);
    const target = to === undefined ? referenceOrInvalid(body) : ownReference(to);
    const key = keyOf(target);
    if (this.missingNamespaces.has(target.namespace)) throw new ApiError("not-found");
    const live = this.#objects.get(key);
    checkVersion(live?.object, options.ifResourceVersion);
    const { object, applied } = merged(operation, live, body);
    const stored = options.dryRun ? object : this.#store(key, object, applied);
    state.writes.push({ operation, target, body, dryRun: options.dryRun, force: options.force });
    return {
      resourceVersion: valueAt(stored, "/metadata/resourceVersion") ?? "",
      object: options.fields.length === 0 ? "" : JSON.stringify(keep(stored, options.fields)),
    };
  }

  delete(state, to, options) {
    const target = ownReference(to);
    const live = this.#objects.get(keyOf(target))?.object;
    if (live === undefined) throw new ApiError("not-found");
    if (options.ifUid !== "" && live.metadata.uid !== options.ifUid)
      throw new ApiError("conflict", "the uid is another one");
    checkVersion(live, options.ifResourceVersion);
    if (!options.dryRun) this.remove(target);
    state.writes.push({ operation: "delete", target, body: null, dryRun: options.dryRun, force: false });
  }

  #store(key, object, applied) {
    this.#lastVersion += 1;
    const version = String(this.#lastVersion);
    const uid = object.metadata.uid ?? this.#objects.get(key)?.object.metadata.uid ?? `uid-${version}`;
    object.metadata = { ...object.metadata, uid, resourceVersion: version };
    this.#objects.set(key, { object, applied });
    return object;
  }
}

/** Which object this is. Throws if it has no apiVersion, kind or name: a test's own mistake. */
export function reference(object) {
  const { apiVersion, kind, metadata } = object ?? {};
  if (!apiVersion || !kind || !metadata?.name)
    throw new TypeError(`no apiVersion, kind or metadata.name: ${JSON.stringify(object)}`);
  return { apiVersion, kind, namespace: metadata.namespace, name: metadata.name, uid: metadata.uid ?? "" };
}

function referenceOrInvalid(body) {
  try {
    return reference(body);
  } catch (error) {
    throw new ApiError("invalid", error.message);
  }
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ApiError("invalid", error.message);
  }
}

/** The new object, and what the plugin applied last: what it leaves out next time is removed. */
function merged(operation, live, body) {
  if (operation === "create") {
    if (live !== undefined) throw new ApiError("already-exists");
    return { object: body };
  }
  if (operation === "mergePatch") {
    if (live === undefined) throw new ApiError("not-found");
    return { object: patch(structuredClone(live.object), body), applied: live.applied };
  }
  const base = prune(structuredClone(live?.object ?? {}), live?.applied, body);
  return { object: overlay(base, structuredClone(body)), applied: structuredClone(body) };
}

function checkVersion(live, wanted) {
  if (wanted === "") return;
  if (live === undefined) throw new ApiError("not-found");
  if (live.metadata.resourceVersion !== wanted) throw new ApiError("conflict", "the object has been modified");
}

function selected(object, { labelSelector, fieldSelector }) {
  return (
    matches(labelSelector, (name) => object.metadata.labels?.[name]) &&
    matches(fieldSelector, (path) => valueAt(object, `/${path.replaceAll(".", "/")}`))
  );
}

function ownReference({ kind, namespace, name, uid }) {
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, namespace, name, uid };
}

function keyOf({ apiVersion, kind, namespace = "", name }) {
  return [apiVersion, kind, namespace, name].join("\n");
}
