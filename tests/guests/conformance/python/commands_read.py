"""Commands that read the event: the delivery, and the object as raw text and as types."""

from datetime import timedelta

import wharf_sdk as wharf
from wharf_sdk import cluster

from answers import Command, args, report


def delivery(event: wharf.Event) -> None:
    given, key = event.delivery, event.key
    report(
        {
            "event": event.change,
            "kind": {"group": key.kind.group, "version": key.kind.version, "kind": key.kind.kind},
            "namespace": key.namespace,
            "name": key.name,
            "uid": key.uid,
            "resourceVersion": given.resource_version,
            "deleting": given.deleting,
            "subscription": given.subscription,
            "removal": given.removal,
            "finalStateUnknown": given.final_state_unknown,
            "cause": given.cause,
            "attempt": given.attempt,
            "queuedMs": given.queued // timedelta(milliseconds=1),
            "budgetMs": given.budget // timedelta(milliseconds=1),
            "size": given.size,
            "traceparent": given.traceparent,
        }
    )


def get(event: wharf.Event) -> None:
    report(_view(event).raw(args(event)["pointer"]))


def get_many(event: wharf.Event) -> None:
    report(_view(event).raw_many(args(event)["pointers"]))


def changed(event: wharf.Event) -> None:
    report(event.changed_each(args(event)["pointers"]))


def copy(event: wharf.Event) -> None:
    text = _view(event).json()
    report(None if text is None else cluster.create(text).resource_version)


def count_fields(event: wharf.Event) -> None:
    whole = event.object()
    report(None if whole is None else len(whole))


def remaining(event: wharf.Event) -> None:
    report(timedelta() < event.remaining() <= event.delivery.budget)


def _typed(wanted: type) -> Command:
    return lambda event: report(event.get(args(event)["pointer"], wanted))


def _view(event: wharf.Event) -> wharf.View:
    return event.previous if args(event).get("which") == "previous" else event.current


COMMANDS: dict[str, Command] = {
    "delivery": delivery,
    "get": get,
    "get-many": get_many,
    "changed": changed,
    "string": _typed(str),
    "integer": _typed(int),
    "number": _typed(float),
    "boolean": _typed(bool),
    "strings": _typed(list[str]),
    "copy": copy,
    "object": count_fields,
    "remaining": remaining,
}
