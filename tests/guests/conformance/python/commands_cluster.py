"""Commands that use the cluster. An API error is part of the answer, but where a command
wants it uncaught.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import wharf_sdk as wharf
from wharf_sdk import EventType, Gvk, ObjectRef, cluster
from wharf_sdk.cluster import DeleteOptions, ListOptions, Propagation, ReadOptions, WriteOptions

from answers import Command, args, report

Args = dict[str, Any]


def get(given: Args) -> Any:
    options = ReadOptions(fields=given.get("fields", []), live=given.get("live", False))
    return cluster.get(_kind(given), given.get("namespace"), given["name"], options=options)


def list_names(given: Args) -> Any:
    options = ListOptions(
        namespace=given.get("namespace"),
        label_selector=given.get("labelSelector", ""),
        limit=given.get("limit", 0),
    )
    pages, names = 0, []
    while True:
        page = cluster.list_page(_kind(given), options)
        pages += 1
        names += [item["metadata"]["name"] for item in page.items if "name" in item.get("metadata", {})]
        if not page.continue_token:
            return {"pages": pages, "names": names}
        options = replace(options, continue_token=page.continue_token)


def create(given: Args) -> Any:
    return _written(cluster.create(given["object"], _write_options(given)))


def apply(given: Args) -> Any:
    return _written(cluster.apply(given["object"], _write_options(given)))


def patch(given: Args) -> Any:
    return _written(cluster.merge_patch(_target(given), given["patch"], _write_options(given)))


def delete(given: Args) -> Any:
    propagation = Propagation(given.get("propagation", "background"))
    cluster.delete(_target(given), DeleteOptions(if_uid=given.get("ifUid", ""), propagation=propagation))
    return "deleted"


def record_event(event: wharf.Event) -> None:
    given = args(event)
    cluster.record_event(event.key, EventType(given["type"]), given["reason"], given["message"])


def _caught(work: Callable[[Args], Any]) -> Command:
    def command(event: wharf.Event) -> None:
        try:
            answer = work(args(event))
        except cluster.ApiError as error:
            answer = {"error": error.word}
            if error.after_ms is not None:
                answer["retryAfterMs"] = error.after_ms
            elif error.text:
                answer["text"] = error.text
        report(answer)

    return command


def _written(written: cluster.Written) -> Any:
    return {
        "resourceVersion": written.resource_version,
        "object": None if written.object is None else json.loads(written.object),
    }


def _write_options(given: Args) -> WriteOptions:
    return WriteOptions(
        dry_run=given.get("dryRun", False),
        force=given.get("force", False),
        fields=given.get("fields", []),
        subresource=given.get("subresource"),
        if_resource_version=given.get("ifResourceVersion", ""),
    )


def _kind(given: Args) -> Gvk:
    return Gvk(given["kind"]["apiVersion"], given["kind"]["kind"])


def _target(given: Args) -> ObjectRef:
    return ObjectRef(_kind(given), given["name"], given.get("namespace"))


COMMANDS: dict[str, Command] = {
    "cluster-get": _caught(get),
    "cluster-get-uncaught": lambda event: report(get(args(event))),
    "cluster-list": _caught(list_names),
    "cluster-create": _caught(create),
    "cluster-apply": _caught(apply),
    "cluster-patch": _caught(patch),
    "cluster-delete": _caught(delete),
    "record-event": record_event,
}
