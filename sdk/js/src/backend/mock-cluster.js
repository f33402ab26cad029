/**
 * The cluster outside of a component: that of the mock whose call is running.
 */
import { ApiError } from "../errors.js";
import { current } from "./mock.js";

export function get(kind, namespace, name, fields) {
  return use("get", (cluster) => cluster.read({ kind, namespace, name }, fields));
}

export function listObjects(kind, options) {
  return use("list", (cluster) => cluster.list(kind, options));
}

export function create(object, options) {
  return use("create", (cluster, state) => cluster.write(state, "create", undefined, object, options));
}

export function apply(object, options) {
  return use("apply", (cluster, state) => cluster.write(state, "apply", undefined, object, options));
}

export function mergePatch(target, patch, options) {
  return use("mergePatch", (cluster, state) => cluster.write(state, "mergePatch", target, patch, options));
}

export function remove(target, options) {
  use("delete", (cluster, state) => cluster.delete(state, target, options));
}

export function recordEvent(about, type, reason, message) {
  const { kind, namespace, name, uid } = about;
  const target = { apiVersion: apiVersionOf(kind), kind: kind.kind, namespace, name, uid };
  current()?.events.push({ about: target, type: type === "warning" ? "Warning" : "Normal", reason, message });
}

export function apiVersionOf({ group, version }) {
  return group === "" ? version : `${group}/${version}`;
}

/** A use of the cluster, unless the test wants it to fail. */
function use(operation, work) {
  const state = current();
  if (state === undefined) throw new ApiError("unavailable", "no call is running");
  const index = state.failures.findIndex((failure) => failure.operation === operation);
  if (index >= 0) throw state.failures.splice(index, 1)[0].error;
  return work(state.cluster, state);
}
