"""A mock of the host, so that a plugin's logic is tested natively, by plain `python3 -m
unittest` or any other runner.

`Host` holds the configuration and a small cluster, makes calls of a handler, and records what
the handler did: log lines, writes, Kubernetes Events. Any use of the cluster can be made to
fail. The mock knows no RBAC and no admission, and its server-side apply knows one field
manager: what depends on those is tested against a real API server.

    host = Host({"greeting": "hi"})
    shop = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "a", "name": "b"}}
    assert host.add(Hello, shop) == Outcome.done()
    assert host.logs[0].message == "hi"
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from .. import _backend, _call
from .. import config as _config
from ..delivery import Cause, Change, Delivery, Removal
from ..errors import ApiError
from ..handler import Handler
from ..log import Level
from ..names import Gvk
from ..outcome import Outcome
from . import _json
from ._cluster import reference
from ._mock import Mock
from .record import LogLine, Operation, RecordedEvent, Write

__all__ = ["Call", "Host", "LogLine", "Operation", "RecordedEvent", "Write"]

#: A Kubernetes object.
Body = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call with everything that a host can say about it: `Host.call(Plugin, Call(...))`. The
    short forms of `Host` are enough for most tests.
    """

    change: Change
    #: The object as the call knows it; its key if `without_object`.
    current: Body
    previous: Body | None = None
    #: Neither state of the object is known any more, as after a restart of the host.
    without_object: bool = False
    cause: Cause = Cause.WATCH
    #: Counts from 1.
    attempt: int = 1
    #: Why `delete` is called. After `Removal.GONE` the object is no longer in the cluster.
    removal: Removal = Removal.NONE
    #: The delete itself was missed.
    final_state_unknown: bool = False
    subscription: str = "main"
    budget: timedelta = timedelta(seconds=10)

    def delivery(self) -> Delivery:
        """What the handler is told."""
        return Delivery(
            key=reference(self.current),
            resource_version=_json.text_at(self.current, "/metadata/resourceVersion"),
            deleting=_json.text_at(self.current, "/metadata/deletionTimestamp") != "",
            subscription=self.subscription,
            removal=self.removal,
            final_state_unknown=self.final_state_unknown,
            cause=self.cause,
            attempt=self.attempt,
            queued=timedelta(milliseconds=1),
            budget=self.budget,
            size=0 if self.without_object else len(json.dumps(self.current)),
            traceparent="",
        )


class Host:
    """The host of one test. What it is given and hands out are copies."""

    def __init__(self, config: Any = None) -> None:
        self._mock = Mock({} if config is None else config)

    @property
    def logs(self) -> list[LogLine]:
        """The log lines of all calls so far."""
        return self._mock.logs

    @property
    def events(self) -> list[RecordedEvent]:
        """The Kubernetes Events of all calls so far."""
        return self._mock.events

    @property
    def writes(self) -> list[Write]:
        """The writes of all calls so far that did not fail."""
        return self._mock.writes

    def clear(self) -> None:
        """Forgets log lines, Events and writes."""
        self._mock.logs, self._mock.events, self._mock.writes = [], [], []

    def put(self, body: Body) -> None:
        """Puts an object into the cluster, as another client would. Its uid is kept or made up."""
        self._mock.cluster.put(body)

    def get(self, api_version: str, kind: str, namespace: str | None, name: str) -> Body | None:
        """An object of the cluster as it is now."""
        return copy.deepcopy(self._mock.cluster.peek(Gvk(api_version, kind), namespace, name))

    def missing_namespace(self, namespace: str, missing: bool = True) -> None:
        """From now on, writes into this namespace are answered as the API server does where a
        namespace does not exist (or does again).
        """
        namespaces = self._mock.cluster.missing_namespaces
        (namespaces.add if missing else namespaces.discard)(namespace)

    def fail(self, operation: Operation, error: ApiError) -> None:
        """The next use of this function of the cluster fails so. Several are used up in order."""
        self._mock.failures.append((operation, error))

    def log_level(self, level: Level) -> None:
        """Lines below this level are dropped; all are kept by default."""
        self._mock.log_level = level

    def now(self, now: datetime) -> None:
        """Sets the clock of `wharf_sdk.system`; the standard library's stay as they are. It
        stands still but for one millisecond with every look at it.
        """
        since = now - datetime(1970, 1, 1, tzinfo=UTC)
        self._mock.time_ns = since // timedelta(microseconds=1) * 1000

    def validate(self, handler: type[Handler]) -> list[str]:
        """What the handler says is wrong with its configuration."""
        with self._running():
            return _call.validate(handler, self._mock.config_json())

    def describe(self, handler: type[Handler]) -> Any:
        """What the handler asks for, as the host reads it."""
        with self._running():
            return json.loads(handler.describe().to_json())

    def add(self, handler: type[Handler], body: Body) -> Outcome:
        """Calls `add`; the object is in the cluster from then on."""
        return self.call(handler, Call(change=Change.ADD, current=body))

    def update(self, handler: type[Handler], previous: Body, current: Body) -> Outcome:
        """Calls `update`; the cluster has the current object from then on."""
        return self.call(handler, Call(change=Change.UPDATE, current=current, previous=previous))

    def delete(self, handler: type[Handler], last: Body) -> Outcome:
        """Calls `delete` with this final state; the object is no longer in the cluster."""
        return self.call(handler, Call(change=Change.DELETE, current=last, previous=last, removal=Removal.GONE))

    def call(self, handler: type[Handler], call: Call) -> Outcome:
        """Makes a call. A failed one raises the `Failure` that the host would get; what the
        handler raised instead is its cause.
        """
        call = replace(call, current=copy.deepcopy(call.current), previous=copy.deepcopy(call.previous))
        self._begin(call)
        try:
            with self._running():
                plugin = _config.read(handler)
                return _call.call(plugin, call.change, call.delivery)
        except Exception as error:
            failure = _call.failure(error)
            if failure is error:
                raise
            raise failure from error
        finally:
            self._mock.current = self._mock.previous = None
            self._mock.remaining_ms = 0

    def _begin(self, call: Call) -> None:
        mock = self._mock
        if call.change is not Change.DELETE:
            mock.cluster.put(call.current)
        elif call.removal is Removal.GONE:
            mock.cluster.remove(reference(call.current))
        if not call.without_object:
            mock.current, mock.previous = call.current, call.previous
        mock.remaining_ms = call.budget // timedelta(milliseconds=1)

    @contextmanager
    def _running(self) -> Iterator[None]:
        before = _backend.use(self._mock)
        try:
            yield
        finally:
            _backend.use(before)
