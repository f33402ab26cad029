"""The component's imports and exports, by the modules that componentize-py generates for its
world. The only place that knows them: all else talks to `_backend`, and runs natively too.

The world may lack the interface `cluster`: using it is then refused in the words of the host.
"""

# What componentize-py generates is there in a component only.
# mypy: disable-error-code="import-not-found,misc,no-any-return"

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from datetime import timedelta
from types import ModuleType
from typing import Any

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import config as wit_config
from wit_world.imports import event as wit_event
from wit_world.imports import log as wit_log
from wit_world.imports import system as wit_system
from wit_world.imports import types as wit

from . import cluster, errors
from ._serve import Serve
from .delivery import Cause, Change, Delivery, Removal
from .log import Level
from .names import Gvk, ObjectRef
from .outcome import Failure, Outcome

try:
    wit_cluster: ModuleType | None = importlib.import_module("wit_world.imports.cluster")
except ImportError:
    wit_cluster = None


def exports_of(serve: Serve) -> tuple[type, type]:
    """The exports `setup` and `handler` of a plugin."""

    class Setup(exports.Setup):
        def validate_config(self, config: str) -> None:
            problems = serve.validate_config(config)
            if problems:
                raise Err([_text(problem) for problem in problems])

        def describe(self) -> str:
            return _text(serve.describe())

    class Handler(exports.Handler):
        def add(self, d: wit.Delivery) -> wit.Outcome:
            return _answer(serve.call(Change.ADD, lambda: _delivery(d)))

        def update(self, d: wit.Delivery) -> wit.Outcome:
            return _answer(serve.call(Change.UPDATE, lambda: _delivery(d)))

        def delete(self, d: wit.Delivery) -> wit.Outcome:
            return _answer(serve.call(Change.DELETE, lambda: _delivery(d)))

    return Setup, Handler


class Host:
    """The component's imports as a `_backend.Backend`."""

    def event_get(self, previous: bool, pointer: str) -> str | None:
        return wit_event.get(_REVISIONS[previous], _text(pointer))

    def event_get_many(self, previous: bool, pointers: Sequence[str]) -> list[str | None]:
        return wit_event.get_many(_REVISIONS[previous], _texts(pointers))

    def event_json(self, previous: bool) -> str | None:
        return wit_event.json(_REVISIONS[previous])

    def event_changed(self, pointers: Sequence[str]) -> list[bool]:
        return wit_event.changed(_texts(pointers))

    def event_remaining_ms(self) -> int:
        return wit_event.remaining_ms()

    def log_enabled(self, level: Level) -> bool:
        return wit_log.enabled(_LEVELS[level])

    def log_emit(self, level: Level, message: str, fields: list[tuple[str, str]]) -> None:
        wit_log.emit(_LEVELS[level], _text(message), [(_text(name), _text(value)) for name, value in fields])

    def config_json(self) -> str:
        return wit_config.json()

    def config_get(self, pointer: str) -> str | None:
        return wit_config.get(_text(pointer))

    def now_ns(self) -> int:
        now = wit_system.now()
        return now.seconds * 1_000_000_000 + now.nanoseconds

    def random(self, length: int) -> bytes:
        return wit_system.random(length)

    def cluster_get(self, kind: Gvk, namespace: str | None, name: str, options: cluster.ReadOptions) -> str:
        fields = _texts(options.fields)
        text: str = _cluster("get", _gvk(kind), _maybe_text(namespace), _text(name), fields, options.live)
        return text

    def cluster_list(self, kind: Gvk, options: cluster.ListOptions) -> tuple[list[str], str]:
        page = _cluster(
            "list_objects",
            _gvk(kind),
            lambda wit: wit.ListOptions(
                _maybe_text(options.namespace),
                _text(options.label_selector),
                _text(options.field_selector),
                _texts(options.fields),
                options.live,
                options.limit,
                _text(options.continue_token),
            ),
        )
        return page.items, page.continue_token

    def cluster_create(self, body: str, options: cluster.WriteOptions) -> cluster.Written:
        return _written(_cluster("create", _text(body), _write_options(options)))

    def cluster_apply(self, body: str, options: cluster.WriteOptions) -> cluster.Written:
        return _written(_cluster("apply", _text(body), _write_options(options)))

    def cluster_merge_patch(self, target: ObjectRef, patch: str, options: cluster.WriteOptions) -> cluster.Written:
        return _written(_cluster("merge_patch", _object_ref(target), _text(patch), _write_options(options)))

    def cluster_delete(self, target: ObjectRef, options: cluster.DeleteOptions) -> None:
        _cluster(
            "delete",
            _object_ref(target),
            lambda wit: wit.DeleteOptions(
                options.dry_run,
                _text(options.if_uid),
                _text(options.if_resource_version),
                wit.Propagation[cluster.Propagation(options.propagation).name],
            ),
        )

    def record_event(self, about: ObjectRef, event_type: cluster.EventType, reason: str, message: str) -> None:
        if wit_cluster is None:
            # It never fails: the host too would only log what is missing.
            self.log_emit(Level.WARN, f"the Event {reason} was not sent: {_NO_CLUSTER}", [])
            return
        word = cluster.EventType(event_type).name
        _cluster("record_event", _object_ref(about), lambda wit: wit.EventType[word], _text(reason), _text(message))


_REVISIONS = (wit_event.Revision.CURRENT, wit_event.Revision.PREVIOUS)
_LEVELS = {level: wit_log.Level[level.name] for level in Level}
# By number: an enum's own look-up costs more than all the rest of a delivery.
_REMOVALS = {member.value: Removal[member.name] for member in wit.Removal}
_CAUSES = {member.value: Cause[member.name] for member in wit.Cause}
_DONE = wit.Outcome_Done()
_NO_CLUSTER = (
    "this component was built without the interface cluster, since its Plugin document had no grant of it: "
    "add a grant `cluster` to spec.grants, and build again"
)


def _cluster(function: str, *arguments: Any) -> Any:
    """Calls a function of the interface `cluster`. Arguments that are functions are made with
    its module, which need not be there.
    """
    if wit_cluster is None:
        raise errors.NotGranted(_NO_CLUSTER)
    made = [argument(wit_cluster) if callable(argument) else argument for argument in arguments]
    try:
        return getattr(wit_cluster, function)(*made)
    except Err as error:
        raise _api_error(error.value) from None


def _api_error(value: Any) -> errors.ApiError:
    """`ApiError_NotFound()` as `errors.NotFound()`: the names are the same."""
    name = type(value).__name__.removeprefix("ApiError_")
    make: Callable[..., errors.ApiError] = getattr(errors, name)
    return make(value.value) if hasattr(value, "value") else make()


def _write_options(options: cluster.WriteOptions) -> Callable[[Any], Any]:
    return lambda wit: wit.WriteOptions(
        options.dry_run,
        options.force,
        _text(options.if_resource_version),
        _maybe_text(options.subresource),
        _texts(options.fields),
    )


def _written(written: Any) -> cluster.Written:
    return cluster.Written(written.resource_version, written.object or None)


def _answer(result: Outcome | Failure) -> wit.Outcome:
    if isinstance(result, Outcome):
        return _DONE if result.after_ms is None else wit.Outcome_RequeueAfter(result.after_ms)
    fault = wit.Fault(_text(result.reason), _text(result.message), result.after_ms)
    raise Err(wit.Failure_Permanent(fault) if result.permanent else wit.Failure_Retry(fault))


def _delivery(d: wit.Delivery) -> Delivery:
    key, kind = d.key, d.key.kind
    api_version = f"{kind.group}/{kind.version}" if kind.group else kind.version
    return Delivery(
        ObjectRef(Gvk(api_version, kind.kind), key.name, key.namespace, key.uid),
        d.resource_version,
        d.deleting,
        d.subscription,
        _REMOVALS[d.removal._value_],
        d.final_state_unknown,
        _CAUSES[d.cause._value_],
        d.attempt,
        timedelta(0, 0, 0, d.queued_ms),
        timedelta(0, 0, 0, d.budget_ms),
        d.size,
        d.traceparent,
    )


def _gvk(kind: Gvk) -> wit.Gvk:
    return wit.Gvk(_text(kind.group), _text(kind.version), _text(kind.kind))


def _object_ref(target: ObjectRef) -> wit.ObjectRef:
    return wit.ObjectRef(_gvk(target.kind), _maybe_text(target.namespace), _text(target.name), _text(target.uid))


def _text(text: str) -> str:
    """The text, lone surrogates escaped: the contract's strings are Unicode, Python's are not."""
    if text.isascii():
        return text
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()


def _maybe_text(text: str | None) -> str | None:
    return None if text is None else _text(text)


def _texts(texts: Sequence[str]) -> list[str]:
    return [_text(text) for text in texts]
