/**
 * Commands that read the event: the delivery, and the object as raw text and as types.
 */
import { cluster } from "@wharf-dev/sdk";

import { report } from "./report.js";

export const readCommands = {
  delivery: (_args, event) => report(delivery(event)),
  get: ({ pointer, which }, event) => report(view(event, which).raw(pointer)),
  "get-many": ({ pointers, which }, event) =>
    report(
      view(event, which)
        .rawMany(pointers)
        .map((text) => text ?? null),
    ),
  changed: ({ pointers }, event) => report(event.changedEach(pointers)),
  string: ({ pointer }, event) => report(event.string(pointer)),
  integer: ({ pointer }, event) => report(event.integer(pointer)),
  number: ({ pointer }, event) => report(event.number(pointer)),
  boolean: ({ pointer }, event) => report(event.boolean(pointer)),
  strings: ({ pointer }, event) => report(event.strings(pointer)),
  copy({ which }, event) {
    const text = view(event, which).json();
    report(text === undefined ? undefined : cluster.create(text).resourceVersion);
  },
  object: (_args, event) => report(Object.keys(event.object()).length),
  remaining(_args, event) {
    const left = event.remainingMs();
    report(left > 0 && left <= event.delivery.budgetMs);
  },
};

function view(event, which) {
  return which === "previous" ? event.previous : event.current;
}

function delivery({ change, key, delivery: { key: _key, ...rest } }) {
  const [version, group = ""] = key.apiVersion.split("/").reverse();
  const { namespace = null, name, uid } = key;
  return { event: change, kind: { group, version, kind: key.kind }, namespace, name, uid, ...rest };
}
