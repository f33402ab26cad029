"""What a plugin says of itself, in the words of the Plugin document.

The document narrows it and grants; a plugin never gets more than it asked for here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from .outcome import SDK_REASONS, milliseconds

__all__ = ["Description", "Subscription"]

#: Reasons that the host takes of a description.
_MAX_REASONS = 16


@dataclass(frozen=True)
class Subscription:
    """One kind that a plugin asks to be told about."""

    #: By which the Plugin document refers to it.
    name: str
    api_version: str
    kind: str
    #: Only objects whose labels match; empty: all.
    label_selector: str = ""
    #: Only objects whose `metadata.name` or `metadata.namespace` match; empty: all.
    field_selector: str = ""
    #: The functions that are called: `Change` or its word. None: all of them; empty: the
    #: kind is cached for reading, and never delivered.
    events: Sequence[str] | None = None
    #: Only changes of a value at one of these pointers count; empty: all.
    only_if_changed: Sequence[str] = ()
    #: Only changes count for which this CEL expression over `object` and `old` is true; `old` is
    #: null where there is nothing to compare with.
    filter: str = ""
    #: Changes that the plugin makes itself do not count.
    ignore_own_writes: bool = False
    #: A change calls the handler for another object: `to`, the name of its subscription, and one of
    #: `owner` (`any` or `controller`), `label`, `annotation` and `field`.
    map: Mapping[str, str] | None = None

    def to_value(self) -> dict[str, Any]:
        """As the host reads it."""
        value: dict[str, Any] = {"name": self.name, "apiVersion": self.api_version, "kind": self.kind}
        if self.label_selector:
            value["labelSelector"] = self.label_selector
        if self.field_selector:
            value["fieldSelector"] = self.field_selector
        if self.events is not None:
            value["events"] = [str(event) for event in self.events]
        if self.only_if_changed:
            value["onlyIfChanged"] = list(self.only_if_changed)
        if self.filter:
            value["filter"] = self.filter
        if self.ignore_own_writes:
            value["ignoreOwnWrites"] = True
        if self.map is not None:
            value["map"] = dict(self.map)
        return value


@dataclass(frozen=True)
class Description:
    """Name, version, subscriptions, failure reasons and wished limits of a plugin."""

    name: str
    version: str
    subscribe: Sequence[Subscription] = ()
    #: Failure reasons that shall count by themselves in metrics: CamelCase words, 8 at most
    #: (16 with those that this package uses itself); what is more counts as `Other`.
    reasons: Sequence[str] = ()
    #: Wish for memory over all of an instance, as a quantity: `48Mi`.
    memory: str | None = None
    #: Wish for wall time of one call (a number: seconds).
    deadline: timedelta | float | None = None
    #: Wish for processor time of one call (a number: seconds).
    cpu: timedelta | float | None = None
    #: Wish for calls at the same time.
    concurrency: int | None = None

    def to_json(self) -> str:
        """The JSON text of `setup.describe`."""
        # Each once: the host refuses a list that has one twice.
        reasons = list(dict.fromkeys([*self.reasons, *SDK_REASONS]))[:_MAX_REASONS]
        limits = {
            "memory": self.memory,
            "deadline": _duration(self.deadline),
            "cpu": _duration(self.cpu),
            "concurrency": self.concurrency,
        }
        value = {
            "name": self.name,
            "version": self.version,
            "reasons": reasons,
            "subscribe": [subscription.to_value() for subscription in self.subscribe],
            "limits": {name: limit for name, limit in limits.items() if limit is not None},
        }
        return json.dumps(value)


def _duration(time: timedelta | float | None) -> str | None:
    return None if time is None else f"{milliseconds(time)}ms"
