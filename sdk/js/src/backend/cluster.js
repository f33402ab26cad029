/**
 * The cluster in a component whose world has it. The only file that names this import.
 */
import * as cluster from "wharf:plugin/cluster@0.1.0";
import { maybeText, text, texts, u32, word } from "./values.js";
import { requireHost } from "./state.js";

const PROPAGATION = ["background", "foreground", "orphan"];

export function get(kind, namespace, name, fields, live) {
  requireHost("an object is read");
  return cluster.get(gvk(kind), maybeText(namespace), text(name), texts(fields), Boolean(live));
}

export function listObjects(kind, options) {
  requireHost("objects are listed");
  return cluster.listObjects(gvk(kind), {
    namespace: maybeText(options.namespace),
    labelSelector: text(options.labelSelector),
    fieldSelector: text(options.fieldSelector),
    fields: texts(options.fields),
    live: Boolean(options.live),
    limit: u32(options.limit),
    continueToken: text(options.continueToken),
  });
}

export function create(object, options) {
  requireHost("an object is made");
  return cluster.create(text(object), writeOptions(options));
}

export function apply(object, options) {
  requireHost("an object is applied");
  return cluster.apply(text(object), writeOptions(options));
}

export function mergePatch(target, patch, options) {
  requireHost("an object is patched");
  return cluster.mergePatch(reference(target), text(patch), writeOptions(options));
}

export function remove(target, options) {
  requireHost("an object is deleted");
  cluster.delete(reference(target), {
    dryRun: Boolean(options.dryRun),
    ifUid: text(options.ifUid),
    ifResourceVersion: text(options.ifResourceVersion),
    propagation: word(options.propagation, PROPAGATION),
  });
}

export function recordEvent(about, type, reason, message) {
  requireHost("an Event is recorded");
  cluster.recordEvent(reference(about), type, text(reason), text(message));
}

function writeOptions(options) {
  return {
    dryRun: Boolean(options.dryRun),
    force: Boolean(options.force),
    ifResourceVersion: text(options.ifResourceVersion),
    subresource: maybeText(options.subresource),
    fields: texts(options.fields),
  };
}

function reference({ kind, namespace, name, uid }) {
  return { kind: gvk(kind), namespace: maybeText(namespace), name: text(name), uid: text(uid) };
}

function gvk({ group, version, kind }) {
  return { group: text(group), version: text(version), kind: text(kind) };
}
