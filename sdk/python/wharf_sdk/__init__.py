"""Write wharf plugins in Python.

A plugin is one class: its fields are its configuration, its functions answer the events of
the objects that it subscribed to. `wharf build` makes a WebAssembly component of it;
`wharf_sdk.testing` runs the same class natively against a mock of the host.

    import wharf_sdk as wharf
    from wharf_sdk import log

    @wharf.plugin
    class Hello(wharf.Handler):
        greeting: str = "hello"

        @classmethod
        def describe(cls) -> wharf.Description:
            return wharf.Description("hello", "0.1.0", [wharf.Subscription("main", "v1", "ConfigMap")])

        def add(self, event: wharf.Event) -> None:
            log.info(self.greeting, name=event.name)

This package owns what an author sees: typed access to the event, the cluster, the log and the
configuration. It never decides when a plugin is called or what it may do: the host does.
"""

import sys as _sys

if _sys.platform == "wasi":
    # Before all else: modules bind what they import.
    from . import _stdlib

    _stdlib.prepare()

from . import cluster, config, log, system
from .cluster import ApiError, EventType
from .config import ConfigError
from .delivery import Cause, Change, Delivery, Removal
from .describe import Description, Subscription
from .event import Event, ReadError, View
from .handler import Handler, plugin
from .names import Gvk, ObjectRef
from .outcome import Failure, Outcome, Permanent, Retry

__all__ = [
    "ApiError",
    "Cause",
    "Change",
    "ConfigError",
    "Delivery",
    "Description",
    "Event",
    "EventType",
    "Failure",
    "Gvk",
    "Handler",
    "ObjectRef",
    "Outcome",
    "Permanent",
    "ReadError",
    "Removal",
    "Retry",
    "Subscription",
    "View",
    "cluster",
    "config",
    "log",
    "plugin",
    "system",
]
