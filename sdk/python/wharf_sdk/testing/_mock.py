"""The host's functions on the mock's state. Outside a call everything is absent, as in a
component.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

from ..cluster import DeleteOptions, EventType, ListOptions, ReadOptions, WriteOptions, Written
from ..errors import ApiError, Invalid, NotFound
from ..log import Level
from ..names import Gvk, ObjectRef
from . import _json
from ._cluster import Cluster, reference
from .record import LogLine, Operation, RecordedEvent, Write


class Mock:
    """A `wharf_sdk._backend.Backend` that remembers."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self.cluster = Cluster()
        self.current: Any = None
        self.previous: Any = None
        self.remaining_ms = 0
        self.failures: list[tuple[Operation, ApiError]] = []
        self.log_level = Level.TRACE
        self.time_ns = 1_700_000_000 * 1_000_000_000
        self.logs: list[LogLine] = []
        self.events: list[RecordedEvent] = []
        self.writes: list[Write] = []
        # The same bytes in every run of a test.
        self._random = random.Random(1)

    def event_get(self, previous: bool, pointer: str) -> str | None:
        value = self.previous if previous else self.current
        return None if value is None else _text(_json.at(value, pointer))

    def event_get_many(self, previous: bool, pointers: Sequence[str]) -> list[str | None]:
        return [self.event_get(previous, pointer) for pointer in pointers]

    def event_json(self, previous: bool) -> str | None:
        return self.event_get(previous, "")

    def event_changed(self, pointers: Sequence[str]) -> list[bool]:
        def value(state: Any, pointer: str) -> Any:
            return _json.ABSENT if state is None else _json.at(state, pointer)

        return [self.previous is None or value(self.previous, p) != value(self.current, p) for p in pointers]

    def event_remaining_ms(self) -> int:
        self._tick()
        return self.remaining_ms

    def log_enabled(self, level: Level) -> bool:
        return level >= self.log_level

    def log_emit(self, level: Level, message: str, fields: list[tuple[str, str]]) -> None:
        if self.log_enabled(level):
            self.logs.append(LogLine(level, message, dict(fields)))

    def config_json(self) -> str:
        return json.dumps(self.config)

    def config_get(self, pointer: str) -> str | None:
        return _text(_json.at(self.config, pointer))

    def now_ns(self) -> int:
        self._tick()
        return self.time_ns

    def random(self, length: int) -> bytes:
        return self._random.randbytes(min(length, 65_536))

    def cluster_get(self, kind: Gvk, namespace: str | None, name: str, options: ReadOptions) -> str:
        self._fail(Operation.GET)
        found = self.cluster.peek(kind, namespace, name)
        if found is None:
            raise NotFound
        return json.dumps(_json.keep(found, list(options.fields)))

    def cluster_list(self, kind: Gvk, options: ListOptions) -> tuple[list[str], str]:
        self._fail(Operation.LIST)
        items, token = self.cluster.list(kind, options)
        return [json.dumps(item) for item in items], token

    def cluster_create(self, body: str, options: WriteOptions) -> Written:
        return self._write(Operation.CREATE, body, None, options)

    def cluster_apply(self, body: str, options: WriteOptions) -> Written:
        return self._write(Operation.APPLY, body, None, options)

    def cluster_merge_patch(self, target: ObjectRef, patch: str, options: WriteOptions) -> Written:
        return self._write(Operation.MERGE_PATCH, patch, target, options)

    def cluster_delete(self, target: ObjectRef, options: DeleteOptions) -> None:
        self._fail(Operation.DELETE)
        self.cluster.delete(target, options)
        self.writes.append(Write(Operation.DELETE, target, None, options.dry_run))

    def record_event(self, about: ObjectRef, event_type: EventType, reason: str, message: str) -> None:
        self.events.append(RecordedEvent(about, EventType(event_type), reason, message))

    def _write(self, operation: Operation, text: str, target: ObjectRef | None, options: WriteOptions) -> Written:
        self._fail(operation)
        try:
            body = json.loads(text)
        except ValueError as error:
            raise Invalid(str(error)) from None
        target = reference(body) if target is None else target
        written = self.cluster.write(operation, target, body, options)
        self.writes.append(Write(operation, target, body, options.dry_run, options.force))
        return written

    def _fail(self, operation: Operation) -> None:
        """Raises what the test wants this operation to fail with."""
        for index, (of, error) in enumerate(self.failures):
            if of is operation:
                del self.failures[index]
                raise error

    def _tick(self) -> None:
        """The clock stands still but for one millisecond with every look at it, so that
        waiting loops end.
        """
        self.time_ns += 1_000_000
        self.remaining_ms = max(0, self.remaining_ms - 1)


def _text(value: Any) -> str | None:
    return None if value is _json.ABSENT else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
