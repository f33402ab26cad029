"""Why the host calls: the small record that comes with every call."""

from __future__ import annotations

import enum
from datetime import timedelta
from typing import NamedTuple

from .names import ObjectRef

__all__ = ["Cause", "Change", "Delivery", "Removal"]


class Change(enum.StrEnum):
    """Which function of the handler is called."""

    ADD = "add"
    UPDATE = "update"
    DELETE = "delete"


class Cause(enum.StrEnum):
    """Why the host is calling."""

    #: The first full list after the plugin's subscription started.
    INITIAL_LIST = "initial-list"
    #: The watch reported a change.
    WATCH = "watch"
    #: A pass over everything; nothing need have changed.
    RESYNC = "resync"
    #: The plugin asked for it with `Outcome.requeue_after`.
    REQUEUE = "requeue"
    #: The last call for this key failed.
    RETRY = "retry"
    #: A new revision or configuration of the plugin went into service.
    RELOAD = "reload"
    #: The object changed while no host was watching.
    CHANGED_OFFLINE = "changed-offline"
    #: An object that a subscription maps to this one changed.
    RELATED = "related"
    #: An operator asked for it.
    MANUAL = "manual"
    #: A time of the plugin's schedule has come.
    SCHEDULE = "schedule"


class Removal(enum.StrEnum):
    """Why `delete` is called."""

    #: Not a `delete`.
    NONE = "none"
    #: The object was deleted, or its whole kind was.
    GONE = "gone"
    #: The object exists but no longer matches the subscription's selectors.
    UNMATCHED = "unmatched"
    #: Another object (another uid) that matches too has taken its name; `add` follows.
    REPLACED = "replaced"


class Delivery(NamedTuple):
    """Everything that the host says of one call."""

    #: The object that the call is for.
    key: ObjectRef
    #: Its `metadata.resourceVersion`; compare for equality only.
    resource_version: str
    #: `metadata.deletionTimestamp` is set: finalizers are still pending.
    deleting: bool
    #: The name of the subscription that the call is for.
    subscription: str
    #: Why `delete` is called.
    removal: Removal
    #: Only in `delete`: the delete itself was missed, and the current object is an older
    #: state, which may lack the last changes.
    final_state_unknown: bool
    #: Why the host calls. Several changes may have been folded into one call, which then
    #: has the cause of the last of them.
    cause: Cause
    #: 1, plus the calls for this key that failed or were interrupted since the last one
    #: that succeeded.
    attempt: int
    #: Time that the key waited in the queue.
    queued: timedelta
    #: Wall time that this call may take.
    budget: timedelta
    #: Bytes of the current object's JSON; 0 if it is absent.
    size: int
    #: W3C traceparent; empty when not sampled.
    traceparent: str
