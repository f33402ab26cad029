/**
 * Commands that use the cluster. An API error is part of the answer, but where a command wants it
 * uncaught.
 */
import { ApiError, cluster } from "@wharf-dev/sdk";

import { report } from "./report.js";

const EVENT_TYPES = { normal: "Normal", warning: "Warning" };

export const clusterCommands = {
  "cluster-get": (args) => answer(() => get(args)),
  "cluster-get-uncaught": (args) => report(get(args)),
  "cluster-list": (args) => answer(() => list(args)),
  "cluster-create": ({ object, ...options }) => answer(() => written(cluster.create(object, options))),
  "cluster-apply": ({ object, ...options }) => answer(() => written(cluster.apply(object, options))),
  "cluster-patch": ({ patch, subresource, ifResourceVersion, ...target }) =>
    answer(() => written(cluster.mergePatch(reference(target), patch, { subresource, ifResourceVersion }))),
  "cluster-delete": ({ ifUid, propagation, ...target }) =>
    answer(() => {
      cluster.delete(reference(target), { ifUid, propagation });
      return "deleted";
    }),
  "record-event": ({ type, reason, message }, event) =>
    cluster.recordEvent(event.key, EVENT_TYPES[type], reason, message),
};

function answer(work) {
  let value;
  try {
    value = work();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    value = { error: error.code, text: error.text, retryAfterMs: error.retryAfterMs };
  }
  report(value);
}

function get({ fields, live, ...target }) {
  return cluster.get(reference(target), { fields, live });
}

function list({ kind, namespace, labelSelector, limit }) {
  const names = [];
  let pages = 0;
  let continueToken;
  do {
    const page = cluster.list(kind, { namespace, labelSelector, limit, continueToken });
    names.push(...page.items.map((item) => item.metadata.name));
    pages += 1;
    continueToken = page.continueToken;
  } while (continueToken !== undefined);
  return { pages, names };
}

function written({ resourceVersion, object = null }) {
  return { resourceVersion, object };
}

function reference({ kind, namespace, name }) {
  return { ...kind, namespace, name };
}
