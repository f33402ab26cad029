"""The host as this package sees it: one function for each function of the contract.

Owns the place where the running host is looked up. In a component `_wasm` stands there, in
tests the mock of `wharf_sdk.testing`; outside of both every use is an error that says so.
Never looks into JSON, and knows no generated names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from .cluster import DeleteOptions, EventType, ListOptions, ReadOptions, WriteOptions, Written
    from .log import Level
    from .names import Gvk, ObjectRef


class Backend(Protocol):
    """The functions that the host gives a plugin. Texts of objects are JSON."""

    def event_get(self, previous: bool, pointer: str) -> str | None: ...
    def event_get_many(self, previous: bool, pointers: Sequence[str]) -> list[str | None]: ...
    def event_json(self, previous: bool) -> str | None: ...
    def event_changed(self, pointers: Sequence[str]) -> list[bool]: ...
    def event_remaining_ms(self) -> int: ...
    def log_enabled(self, level: Level) -> bool: ...
    def log_emit(self, level: Level, message: str, fields: list[tuple[str, str]]) -> None: ...
    def config_json(self) -> str: ...
    def config_get(self, pointer: str) -> str | None: ...
    def now_ns(self) -> int: ...
    def random(self, length: int) -> bytes: ...
    def cluster_get(self, kind: Gvk, namespace: str | None, name: str, options: ReadOptions) -> str: ...
    def cluster_list(self, kind: Gvk, options: ListOptions) -> tuple[list[str], str]: ...
    def cluster_create(self, body: str, options: WriteOptions) -> Written: ...
    def cluster_apply(self, body: str, options: WriteOptions) -> Written: ...
    def cluster_merge_patch(self, target: ObjectRef, patch: str, options: WriteOptions) -> Written: ...
    def cluster_delete(self, target: ObjectRef, options: DeleteOptions) -> None: ...
    def record_event(self, about: ObjectRef, event_type: EventType, reason: str, message: str) -> None: ...


class NoHost(RuntimeError):
    """The host was used where there is none."""


_running: Backend | None = None


def host() -> Backend:
    """The host of the running call."""
    if _running is None:
        raise NoHost("no host: this works during a call only; tests make calls with wharf_sdk.testing.Host")
    return _running


def use(backend: Backend | None) -> Backend | None:
    """From now on this is the host; returns the one before."""
    global _running
    before, _running = _running, backend
    return before
