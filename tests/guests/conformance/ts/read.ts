/**
 * Commands that read the event: the delivery, and the object as raw text and as types.
 */
import { type Event, type View, cluster } from "@wharf-dev/sdk";

import { type Commands, report } from "./command.ts";

interface Pointer {
  pointer: string;
  which?: "current" | "previous";
}

interface Pointers {
  pointers: string[];
  which?: "current" | "previous";
}

export const readCommands = {
  delivery: (_args: object, event: Event) => report(delivery(event)),
  get: ({ pointer, which }: Pointer, event: Event) => report(view(event, which).raw(pointer)),
  "get-many": ({ pointers, which }: Pointers, event: Event) =>
    report(
      view(event, which)
        .rawMany(pointers)
        .map((text) => text ?? null),
    ),
  changed: ({ pointers }: Pointers, event: Event) => report(event.changedEach(pointers)),
  string: ({ pointer }: Pointer, event: Event) => report(event.string(pointer)),
  integer: ({ pointer }: Pointer, event: Event) => report(event.integer(pointer)),
  number: ({ pointer }: Pointer, event: Event) => report(event.number(pointer)),
  boolean: ({ pointer }: Pointer, event: Event) => report(event.boolean(pointer)),
  strings: ({ pointer }: Pointer, event: Event) => report(event.strings(pointer)),
  copy({ which }: Pick<Pointer, "which">, event: Event): void {
    const text = view(event, which).json();
    report(text === undefined ? undefined : cluster.create(text).resourceVersion);
  },
  object: (_args: object, event: Event) => report(Object.keys(event.object() ?? {}).length),
  remaining(_args: object, event: Event): void {
    const left = event.remainingMs();
    report(left > 0 && left <= event.delivery.budgetMs);
  },
} satisfies Commands;

function view(event: Event, which: Pointer["which"]): View {
  return which === "previous" ? event.previous : event.current;
}

function delivery({ change, key, delivery: { key: _key, ...rest } }: Event): object {
  const [version, group = ""] = key.apiVersion.split("/").reverse();
  const { namespace = null, name, uid } = key;
  return { event: change, kind: { group, version, kind: key.kind }, namespace, name, uid, ...rest };
}
