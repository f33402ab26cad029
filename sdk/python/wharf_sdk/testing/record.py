"""What the mock remembers of a handler's work."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from ..cluster import EventType
from ..log import Level
from ..names import ObjectRef


class Operation(enum.Enum):
    """A function of `wharf_sdk.cluster`."""

    GET = "get"
    LIST = "list"
    CREATE = "create"
    APPLY = "apply"
    MERGE_PATCH = "merge_patch"
    DELETE = "delete"


@dataclass(frozen=True)
class LogLine:
    """A log line."""

    level: Level
    message: str
    fields: dict[str, str]


@dataclass(frozen=True)
class RecordedEvent:
    """A Kubernetes Event."""

    about: ObjectRef
    event_type: EventType
    reason: str
    message: str


@dataclass(frozen=True)
class Write:
    """A write that the mock accepted."""

    operation: Operation
    #: The object that was written.
    target: ObjectRef
    #: The object or patch as sent; None for a delete.
    body: Any
    dry_run: bool = False
    force: bool = False
