"""The cluster, as far as the Plugin document grants it: reads, writes and Kubernetes Events
under the plugin's own identity.

Objects go out as dicts or JSON texts, and come in as dicts or, with `wanted`, as dataclasses of the few
fields that matter. Every call crosses to the host; reads that are
not served from its cache and all writes also cross the network, and count against the call's
deadline. What fails raises an `ApiError`.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, overload

from ._backend import host
from ._decode import Mismatch, decode, pointer
from .errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    DecodeError,
    Forbidden,
    Invalid,
    NotFound,
    NotGranted,
    Throttled,
    TooLarge,
    Unavailable,
)
from .names import Gvk, ObjectRef

__all__ = [
    "AlreadyExists",
    "ApiError",
    "Conflict",
    "DecodeError",
    "DeleteOptions",
    "EventType",
    "Forbidden",
    "Invalid",
    "ListOptions",
    "NotFound",
    "NotGranted",
    "Page",
    "Propagation",
    "ReadOptions",
    "Throttled",
    "TooLarge",
    "Unavailable",
    "WriteOptions",
    "Written",
    "apply",
    "create",
    "delete",
    "get",
    "list_all",
    "list_page",
    "merge_patch",
    "record_event",
]

T = TypeVar("T")
#: A JSON object on its way out, or its text, which is sent as it is.
Body = Mapping[str, Any] | str


class Propagation(enum.StrEnum):
    """What becomes of the objects that a deleted one owns."""

    #: They are deleted after it.
    BACKGROUND = "background"
    #: They are deleted before it.
    FOREGROUND = "foreground"
    #: They stay.
    ORPHAN = "orphan"


class EventType(enum.StrEnum):
    """How much a Kubernetes Event matters."""

    #: As it should be.
    NORMAL = "normal"
    #: Something that a user should look at.
    WARNING = "warning"


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How one object is read."""

    #: Pointers to keep; empty: everything.
    fields: Sequence[str] = ()
    #: From the API server, not from the host's cache.
    live: bool = False


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """Which objects are listed, and how."""

    #: None: all namespaces, which must be granted.
    namespace: str | None = None
    #: Labels that must match; empty: any.
    label_selector: str = ""
    #: Fields that must match; empty: any.
    field_selector: str = ""
    #: Pointers to keep of each item; empty: everything.
    fields: Sequence[str] = ()
    #: From the API server, not from the host's cache.
    live: bool = False
    #: Items of a page at most; 0: the host's default.
    limit: int = 0
    #: Empty for the first page, else of the page before.
    continue_token: str = ""


@dataclass(frozen=True)
class Page(Generic[T]):
    """Some of the objects of a list."""

    #: The objects. A page may be shorter than asked for: bytes are capped too.
    items: list[T]
    #: For the next page; empty on the last one.
    continue_token: str


@dataclass(frozen=True, kw_only=True)
class WriteOptions:
    """How an object is written."""

    #: Everything but the storing.
    dry_run: bool = False
    #: Take over fields that another manager owns. Only for apply.
    force: bool = False
    #: Refuse if the live object has another one; empty: do not check.
    if_resource_version: str = ""
    #: For example `status`.
    subresource: str | None = None
    #: Pointers to keep of the answer; empty: only the new resourceVersion.
    fields: Sequence[str] = ()


@dataclass(frozen=True)
class Written:
    """What a write left behind."""

    #: Of the object as stored.
    resource_version: str
    #: The object as stored, as JSON text cut to `WriteOptions.fields`; None without them.
    object: str | None = None


@dataclass(frozen=True, kw_only=True)
class DeleteOptions:
    """How an object is deleted."""

    #: Everything but the deleting.
    dry_run: bool = False
    #: Refuse if the live object has another one; empty: do not check.
    if_uid: str = ""
    #: Refuse if the live object has another one; empty: do not check.
    if_resource_version: str = ""
    #: What becomes of the objects that it owns.
    propagation: Propagation = Propagation.BACKGROUND


_READ, _LIST, _WRITE = ReadOptions(), ListOptions(), WriteOptions()


@overload
def get(kind: Gvk, namespace: str | None, name: str, *, options: ReadOptions = ...) -> dict[str, Any]: ...
@overload
def get(kind: Gvk, namespace: str | None, name: str, wanted: type[T], options: ReadOptions = ...) -> T: ...
def get(kind: Gvk, namespace: str | None, name: str, wanted: Any = dict, options: ReadOptions = _READ) -> Any:
    """One object; raises `NotFound` and the like. Kinds that the plugin subscribes to come
    from the host's cache.
    """
    return _decode(host().cluster_get(kind, namespace, name, options), wanted)


@overload
def list_page(kind: Gvk, options: ListOptions = ...) -> Page[dict[str, Any]]: ...
@overload
def list_page(kind: Gvk, options: ListOptions, wanted: type[T]) -> Page[T]: ...
def list_page(kind: Gvk, options: ListOptions = _LIST, wanted: Any = dict) -> Page[Any]:
    """One page of objects; `list_all` follows the pages."""
    items, token = host().cluster_list(kind, options)
    return Page([_decode(item, wanted) for item in items], token)


@overload
def list_all(kind: Gvk, options: ListOptions = ...) -> Iterator[dict[str, Any]]: ...
@overload
def list_all(kind: Gvk, options: ListOptions, wanted: type[T]) -> Iterator[T]: ...
def list_all(kind: Gvk, options: ListOptions = _LIST, wanted: Any = dict) -> Iterator[Any]:
    """All objects. Asks for the next page when the one before has been used up."""
    while True:
        page = list_page(kind, options, wanted)
        yield from page.items
        if not page.continue_token:
            return
        options = replace(options, continue_token=page.continue_token)


def create(body: Body, options: WriteOptions = _WRITE) -> Written:
    """Makes an object that is not there yet; raises `AlreadyExists` and the like."""
    return host().cluster_create(_encode(body), options)


def apply(body: Body, options: WriteOptions = _WRITE) -> Written:
    """Server-side apply: the object has these fields afterwards, and those that the plugin
    applied before and left out now are gone. Raises `Conflict` if another manager owns one.
    """
    return host().cluster_apply(_encode(body), options)


def merge_patch(target: ObjectRef, patch: Body, options: WriteOptions = _WRITE) -> Written:
    """A JSON merge patch: None removes a field. Raises `NotFound` and the like."""
    return host().cluster_merge_patch(target, _encode(patch), options)


def delete(target: ObjectRef, options: DeleteOptions | None = None) -> None:
    """Deletes an object, without options in the background, and only this very one if the
    target has a uid. With options `if_uid` is checked, not the target's uid.
    """
    host().cluster_delete(target, DeleteOptions(if_uid=target.uid) if options is None else options)


def record_event(about: ObjectRef, event_type: EventType, reason: str, message: str) -> None:
    """A Kubernetes Event about an object: what `kubectl describe` shows. The host folds
    repeats and limits the rate. Without the grant nothing happens but a line in its log.
    """
    host().record_event(about, event_type, reason, message)


def _decode(text: str, wanted: Any) -> Any:
    try:
        return decode(json.loads(text), wanted)
    except Mismatch as error:
        path, problem = error.problems[0]
        raise DecodeError(f"{pointer(path) or 'the object'}: {problem}") from None
    except ValueError as error:
        raise DecodeError(str(error)) from None


def _encode(body: Body) -> str:
    if isinstance(body, str):
        return body
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise DecodeError(f"the object is no JSON: {error}") from error
