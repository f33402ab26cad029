"""What a plugin implements: one class, made the component's handler by `@plugin`."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable
from typing import TypeVar, dataclass_transform

from ._decode import prepare
from .describe import Description
from .event import Event
from .outcome import Outcome

__all__ = ["Handler", "plugin"]


class Handler:
    """A plugin. Its fields are its configuration, read from `spec.config` of the Plugin
    document (`requiredLabel` there is `required_label` here).

    Calls for one key never overlap; calls for different keys may run at the same time in
    different instances, and the host throws instances away: keep nothing that cannot be
    made anew. Delivery is at least once, so every function must be fine with being called
    again.

    Functions end with an `Outcome` (None: done) or raise: `Retry` and `Permanent` say when
    the host tries again, and each other exception is a retry.
    """

    @classmethod
    def describe(cls) -> Description:
        """What the plugin is called and what it asks for.

        Called with a configuration that passed `validate`, and with none by `wharf
        inspect`; read it with `config` if the answer depends on it. Effects refuse here.
        """
        raise NotImplementedError(f"{cls.__name__} has no describe()")

    def validate(self) -> Iterable[str]:
        """What is wrong with a configuration beyond its types, one sentence each; nothing
        if it is good. The revision goes into service only then.
        """
        return ()

    def add(self, event: Event) -> Outcome | None:
        """The key was not known to this plugin, and the object exists."""
        raise NotImplementedError(f"{type(self).__name__} has no add()")

    def update(self, event: Event) -> Outcome | None:
        """The object changed since the last successful call, or it is time again. The same
        as `add` unless implemented.
        """
        return self.add(event)

    def delete(self, event: Event) -> Outcome | None:
        """The object is gone, no longer matches, or was replaced: see `Delivery.removal`.
        Does nothing unless implemented.
        """
        return None


H = TypeVar("H", bound=Handler)

#: The classes that `plugin` was used on. A component must have one, a test may have many.
plugins: list[type[Handler]] = []


@dataclass_transform(frozen_default=True, kw_only_default=True)
def plugin(handler: type[H]) -> type[H]:
    """Makes a `Handler` the component's handler, and a frozen dataclass of its fields.

    Raises `TypeError` for what cannot be one: a field of a type that JSON does not have, or
    a function that is async (the host's calls are synchronous).
    """
    if not (isinstance(handler, type) and issubclass(handler, Handler)):
        raise TypeError(f"@plugin is for classes that extend wharf_sdk.Handler, not for {handler!r}")
    for name in ("describe", "validate", "add", "update", "delete"):
        if inspect.iscoroutinefunction(getattr(handler, name)):
            raise TypeError(f"{handler.__name__}.{name} must not be async: the host's calls are synchronous")
    if "__dataclass_fields__" not in vars(handler):
        handler = dataclasses.dataclass(frozen=True, kw_only=True)(handler)
    prepare(handler)
    plugins.append(handler)
    return handler
