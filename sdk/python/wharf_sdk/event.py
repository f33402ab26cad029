"""The event of the running call: the delivery, and typed access to the object now and as it
was. The object's bytes stay on the host until asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypeVar, overload

from ._backend import host
from ._decode import Mismatch, decode, escape
from ._decode import pointer as pointer_of
from .delivery import Change, Delivery
from .names import ObjectRef

__all__ = ["Event", "ReadError", "View"]

T = TypeVar("T")


class ReadError(Exception):
    """A part of the object does not have the asked for type."""

    def __init__(self, pointer: str, problem: str) -> None:
        super().__init__(pointer, problem)
        #: Where: an RFC 6901 pointer, empty for the whole object.
        self.pointer = pointer
        #: What was expected, and what was found.
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.pointer or 'the object'} cannot be read: {self.problem}"


class View:
    """The object of the event as it is or as it was. Absent parts are None."""

    __slots__ = ("_previous",)

    def __init__(self, previous: bool) -> None:
        self._previous = previous

    @overload
    def get(self, pointer: str) -> Any: ...
    @overload
    def get(self, pointer: str, wanted: type[T]) -> T | None: ...
    def get(self, pointer: str, wanted: Any = Any) -> Any:
        """The value at an RFC 6901 pointer: `get("/spec/replicas", int)`. A JSON null is None
        too, as nothing is.

        Raises `ReadError` if there is a value of another type.
        """
        text = host().event_get(self._previous, pointer)
        return None if text is None else _parse(pointer, text, wanted)

    @overload
    def get_many(self, pointers: Sequence[str]) -> list[Any]: ...
    @overload
    def get_many(self, pointers: Sequence[str], wanted: type[T]) -> list[T | None]: ...
    def get_many(self, pointers: Sequence[str], wanted: Any = Any) -> list[Any]:
        """The values at several pointers, in one crossing; as many as there are pointers, of
        which the host looks up 256 at most.

        Raises `ReadError` if one of the values has another type.
        """
        texts = host().event_get_many(self._previous, pointers)
        return [None if text is None else _parse(pointer, text, wanted) for pointer, text in zip(pointers, texts)]

    @overload
    def object(self) -> dict[str, Any] | None: ...
    @overload
    def object(self, wanted: type[T]) -> T | None: ...
    def object(self, wanted: Any = dict) -> Any:
        """The whole object; None if this state is absent. Costs its size: prefer `get`.

        Raises `ReadError` if it does not have that form.
        """
        text = self.json()
        return None if text is None else _parse("", text, wanted)

    def raw(self, pointer: str) -> str | None:
        """The JSON text at a pointer, as it stands there: numbers keep all their digits."""
        return host().event_get(self._previous, pointer)

    def raw_many(self, pointers: Sequence[str]) -> list[str | None]:
        """`raw` for several pointers, in one crossing."""
        return host().event_get_many(self._previous, pointers)

    def json(self) -> str | None:
        """The whole object as JSON text; None if this state is absent."""
        return host().event_json(self._previous)

    def label(self, key: str) -> str | None:
        """A label. Raises `ReadError` if its value is no string."""
        return self.get(f"/metadata/labels/{escape(key)}", str)

    def annotation(self, key: str) -> str | None:
        """An annotation. Raises `ReadError` if its value is no string."""
        return self.get(f"/metadata/annotations/{escape(key)}", str)


class Event(View):
    """A change of one object, shown to a handler: the current object, and what stands round
    it. Only useful during the call that it was made for.
    """

    __slots__ = ("_change", "_delivery", "_read_delivery")

    def __init__(self, change: Change, delivery: Callable[[], Delivery]) -> None:
        super().__init__(previous=False)
        self._change = change
        self._read_delivery = delivery
        self._delivery: Delivery | None = None

    @property
    def change(self) -> Change:
        """Which function of the handler is called."""
        return self._change

    @property
    def delivery(self) -> Delivery:
        """Everything that the host says about the call."""
        if self._delivery is None:
            self._delivery = self._read_delivery()
        return self._delivery

    @property
    def key(self) -> ObjectRef:
        """The object that the call is for."""
        return self.delivery.key

    @property
    def name(self) -> str:
        """`metadata.name`."""
        return self.delivery.key.name

    @property
    def namespace(self) -> str | None:
        """`metadata.namespace`; None for cluster-scoped kinds."""
        return self.delivery.key.namespace

    @property
    def current(self) -> View:
        """The object now; in `delete` its final state, which may be absent after a restart of
        the host. The event's own `get` and the like read it too.
        """
        return _CURRENT

    @property
    def previous(self) -> View:
        """The object at the last successful call (or as filtered since). Absent in `add`, and
        maybe after a restart of the host.
        """
        return _PREVIOUS

    def changed(self, *pointers: str) -> bool:
        """Does what is at one of the pointers differ between previous and current? True where
        there is no previous.
        """
        return True in host().event_changed(pointers)

    def changed_each(self, pointers: Sequence[str]) -> list[bool]:
        """`changed` for each of the pointers, in one crossing; at most 256 are compared, what
        is behind them counts as changed.
        """
        return host().event_changed(pointers)

    def remaining(self) -> timedelta:
        """Wall time left before the host ends this call."""
        return timedelta(milliseconds=host().event_remaining_ms())


_JSON = json.JSONDecoder()
_CURRENT = View(previous=False)
_PREVIOUS = View(previous=True)


def _parse(pointer: str, text: str, wanted: Any) -> Any:
    try:
        # The host's texts are compact: there is no space to look for.
        value, _end = _JSON.raw_decode(text)
        if value is None or wanted is Any or type(value) is wanted:
            return value
        return decode(value, wanted)
    except Mismatch as error:
        path, problem = error.problems[0]
        raise ReadError(pointer + pointer_of(path), problem) from None
    except ValueError as error:
        raise ReadError(pointer, str(error)) from None
