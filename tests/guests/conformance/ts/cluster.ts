/**
 * Commands that use the cluster. An API error is part of the answer, but where a command wants it
 * uncaught.
 */
import { ApiError, type Event, type Kind, type ObjectRef, cluster } from "@wharf-dev/sdk";

import { type Commands, report } from "./command.ts";

const EVENT_TYPES = { normal: "Normal", warning: "Warning" } as const;

interface Target {
  kind: Kind;
  namespace?: string;
  name: string;
}

type Get = Target & cluster.ReadOptions;
type List = { kind: Kind } & cluster.ListOptions;
type Write = { object: object } & cluster.WriteOptions;
type Patch = Target & Pick<cluster.WriteOptions, "subresource" | "ifResourceVersion"> & { patch: object };
type Delete = Target & Pick<cluster.DeleteOptions, "ifUid" | "propagation">;

interface Note {
  type: keyof typeof EVENT_TYPES;
  reason: string;
  message: string;
}

export const clusterCommands = {
  "cluster-get": (args: Get) => answer(() => get(args)),
  "cluster-get-uncaught": (args: Get) => report(get(args)),
  "cluster-list": (args: List) => answer(() => list(args)),
  "cluster-create": ({ object, ...options }: Write) => answer(() => written(cluster.create(object, options))),
  "cluster-apply": ({ object, ...options }: Write) => answer(() => written(cluster.apply(object, options))),
  "cluster-patch": ({ patch, subresource, ifResourceVersion, ...target }: Patch) =>
    answer(() => written(cluster.mergePatch(reference(target), patch, { subresource, ifResourceVersion }))),
  "cluster-delete": ({ ifUid, propagation, ...target }: Delete) =>
    answer(() => {
      cluster.delete(reference(target), { ifUid, propagation });
      return "deleted";
    }),
  "record-event": ({ type, reason, message }: Note, event: Event) =>
    cluster.recordEvent(event.key, EVENT_TYPES[type], reason, message),
} satisfies Commands;

function answer(work: () => unknown): void {
  let value: unknown;
  try {
    value = work();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    value = { error: error.code, text: error.text, retryAfterMs: error.retryAfterMs };
  }
  report(value);
}

function get({ fields, live, ...target }: Get): unknown {
  return cluster.get(reference(target), { fields, live });
}

function list({ kind, namespace, labelSelector, limit }: List): object {
  const names: string[] = [];
  let pages = 0;
  let continueToken: string | undefined;
  do {
    const page = cluster.list(kind, { namespace, labelSelector, limit, continueToken });
    names.push(...page.items.map((item) => item.metadata.name));
    pages += 1;
    continueToken = page.continueToken;
  } while (continueToken !== undefined);
  return { pages, names };
}

function written({ resourceVersion, object }: cluster.Written<object>): object {
  return { resourceVersion, object: object ?? null };
}

function reference({ kind, namespace, name }: Target): ObjectRef {
  return { ...kind, namespace, name };
}
