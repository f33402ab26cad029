"""The mock's cluster: objects by kind and name, with the API server's answers for what is
missing, taken or changed. One field manager.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import Any

from ..cluster import DeleteOptions, ListOptions, WriteOptions, Written
from ..errors import AlreadyExists, Conflict, Invalid, NotFound
from ..names import Gvk, ObjectRef
from . import _json, _selector
from .record import Operation

_Key = tuple[Gvk, str | None, str]


@dataclass
class _Stored:
    body: dict[str, Any]
    #: What the plugin applied last: what it leaves out next time is removed.
    applied: Any


class Cluster:
    """All objects."""

    def __init__(self) -> None:
        self._objects: dict[_Key, _Stored] = {}
        self._last_version = 0
        self.missing_namespaces: set[str] = set()

    def put(self, body: dict[str, Any]) -> None:
        """An object comes or changes from outside."""
        target = reference(body)
        before = self._objects.get(_key(target))
        self._store(target, copy.deepcopy(body), None if before is None else before.applied)

    def remove(self, target: ObjectRef) -> None:
        """An object goes."""
        self._objects.pop(_key(target), None)

    def peek(self, kind: Gvk, namespace: str | None, name: str) -> dict[str, Any] | None:
        """An object as it is."""
        stored = self._objects.get((kind, namespace, name))
        return None if stored is None else stored.body

    def list(self, kind: Gvk, options: ListOptions) -> tuple[list[Any], str]:
        """Objects of a page, and the next page's token: the number of objects to leave out."""
        labels, fields = _selector.parse(options.label_selector), _selector.parse(options.field_selector)
        if not (options.continue_token or "0").isdigit():
            raise Invalid("the continue token is not one of this host")
        matching = [
            stored.body
            for (of, namespace, _), stored in sorted(
                self._objects.items(), key=lambda item: (item[0][1] or "", item[0][2])
            )
            if of == kind
            and options.namespace in (None, namespace)
            and all(matches(_label(stored.body, key)) for key, matches in labels)
            and all(matches(_json.text_at(stored.body, "/" + key.replace(".", "/")) or None) for key, matches in fields)
        ]
        start = int(options.continue_token or "0")
        end = start + options.limit if options.limit else len(matching)
        items = [_json.keep(body, list(options.fields)) for body in matching[start:end]]
        return items, str(end) if end < len(matching) else ""

    def write(self, operation: Operation, target: ObjectRef, body: Any, options: WriteOptions) -> Written:
        """Create, apply or merge patch."""
        if target.namespace in self.missing_namespaces:
            raise NotFound
        live = self._objects.get(_key(target))
        _check_version(None if live is None else live.body, options.if_resource_version)
        if operation is Operation.CREATE and live is not None:
            raise AlreadyExists
        if operation is Operation.MERGE_PATCH and live is None:
            raise NotFound
        after: Any = {} if live is None else copy.deepcopy(live.body)
        body = copy.deepcopy(body)
        applied = None if live is None else live.applied
        if operation is Operation.MERGE_PATCH:
            after = _json.merge_patch(after, body)
        elif operation is Operation.APPLY:
            _json.prune(after, applied, body)
            after = _json.overlay(after, copy.deepcopy(body))
            applied = body
        else:
            after = body
        stored = after if options.dry_run else self._store(target, after, applied)
        cut = json.dumps(_json.keep(stored, list(options.fields))) if options.fields else None
        return Written(_json.text_at(stored, "/metadata/resourceVersion"), cut)

    def delete(self, target: ObjectRef, options: DeleteOptions) -> None:
        """Deletes an object, if it is the one that is meant."""
        live = self._objects.get(_key(target))
        if live is None:
            raise NotFound
        if options.if_uid and _json.text_at(live.body, "/metadata/uid") != options.if_uid:
            raise Conflict("the uid is another one")
        _check_version(live.body, options.if_resource_version)
        if not options.dry_run:
            self.remove(target)

    def _store(self, target: ObjectRef, body: dict[str, Any], applied: Any) -> dict[str, Any]:
        self._last_version += 1
        before = self._objects.get(_key(target))
        metadata = body.setdefault("metadata", {})
        metadata["resourceVersion"] = str(self._last_version)
        old_uid = None if before is None else before.body["metadata"]["uid"]
        metadata.setdefault("uid", old_uid or f"uid-{self._last_version}")
        self._objects[_key(target)] = _Stored(body, applied)
        return body


def reference(body: Any) -> ObjectRef:
    """Which object this is. Raises `Invalid` if it does not say so."""
    api_version, kind, name = (_json.text_at(body, pointer) for pointer in ("/apiVersion", "/kind", "/metadata/name"))
    if not (api_version and kind and name):
        raise Invalid("the object has no apiVersion, kind or metadata.name")
    namespace = _json.text_at(body, "/metadata/namespace") or None
    return ObjectRef(Gvk(api_version, kind), name, namespace, _json.text_at(body, "/metadata/uid"))


def _key(target: ObjectRef) -> _Key:
    return target.kind, target.namespace, target.name


def _check_version(live: dict[str, Any] | None, wanted: str) -> None:
    if wanted and (live is None or _json.text_at(live, "/metadata/resourceVersion") != wanted):
        raise Conflict("the resourceVersion is another one")


def _label(body: dict[str, Any], key: str) -> str | None:
    value = body["metadata"].get("labels", {}).get(key)
    return value if isinstance(value, str) else None
