"""JSON values read into types, with every mistake named.

Knows `str`, `int`, `float`, `bool`, `None`, `Any`, `object`, `list`, `dict`, `tuple[T, ...]`,
`Sequence`, `Mapping`, unions, `Literal`, enums and dataclasses, nested as one likes. A dataclass field `max_age` is
read from `maxAge`, the way Kubernetes writes names; `field(metadata={"name": "…"})` names
another. Never converts: a number is no text, and a boolean no number.
"""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")

#: From the root to a value: None, or the path of its parent and its name or index there.
Path = tuple[Any, str | int] | None
#: Where and what, each.
Problems = list[tuple[Path, str]]
Decoder = Callable[[Any, Path, Problems], Any]


class Mismatch(Exception):
    """A value does not have the asked for type."""

    def __init__(self, problems: Problems) -> None:
        super().__init__(problems)
        self.problems = problems


def decode(value: Any, wanted: type[T], strict: bool = False) -> T:
    """The value as the wanted type. Strict: fields that a dataclass does not have are refused.

    Raises `Mismatch` with all that is wrong, and `TypeError` for a type that cannot be read.
    """
    problems: Problems = []
    read: Any = wanted
    result: T = decoder(read, strict)(value, None, problems)
    if problems:
        raise Mismatch(problems)
    return result


def pointer(path: Path) -> str:
    """The path as an RFC 6901 pointer."""
    if path is None:
        return ""
    parent, name = path
    return f"{pointer(parent)}/{escape(str(name))}"


def dotted(path: Path) -> str:
    """The path as people write it: `limits.items[0]`."""
    if path is None:
        return ""
    parent, name = path
    before = dotted(parent)
    if isinstance(name, int):
        return f"{before}[{name}]"
    return f"{before}.{name}" if before else name


def escape(name: str) -> str:
    """One reference token of a pointer."""
    return name.replace("~", "~0").replace("/", "~1")


@cache
def decoder(wanted: Any, strict: bool = False) -> Decoder:
    """The function that reads this type. Made once for each type."""
    if wanted is Any or wanted is object:
        return _anything
    if wanted is None or wanted is type(None):
        return _one_of((None,))
    if wanted in _SCALARS:
        return _SCALARS[wanted]
    origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
    if origin in (typing.Union, types.UnionType):
        return _union(arguments, strict)
    if origin is typing.Literal:
        return _one_of(arguments)
    if wanted is list or origin is list:
        return _sequence(list, arguments[0] if arguments else Any, strict)
    if origin is Sequence or (origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis):
        return _sequence(tuple, arguments[0], strict)
    if wanted is dict or (origin in (dict, Mapping) and arguments[0] is str):
        return _mapping(arguments[1] if arguments else Any, strict)
    if dataclasses.is_dataclass(wanted) and isinstance(wanted, type):
        return _Record(wanted, strict)
    if isinstance(wanted, type) and issubclass(wanted, enum.Enum):
        return _enum(wanted)
    raise TypeError(f"{wanted!r} cannot be read from JSON: see the package's README for the types that can")


def _anything(value: Any, path: Path, problems: Problems) -> Any:
    return value


def _string(value: Any, path: Path, problems: Problems) -> Any:
    if type(value) is not str:
        problems.append((path, _expected("a string", value)))
    return value


def _integer(value: Any, path: Path, problems: Problems) -> Any:
    if type(value) is not int:
        problems.append((path, _expected("an integer", value)))
    return value


def _number(value: Any, path: Path, problems: Problems) -> Any:
    if type(value) is float:
        return value
    if type(value) is int:
        try:
            return float(value)
        except OverflowError:
            pass
    problems.append((path, _expected("a number", value)))
    return value


def _boolean(value: Any, path: Path, problems: Problems) -> Any:
    if type(value) is not bool:
        problems.append((path, _expected("true or false", value)))
    return value


_SCALARS: dict[Any, Decoder] = {str: _string, int: _integer, float: _number, bool: _boolean}


def _sequence(make: type, item: Any, strict: bool) -> Decoder:
    read = decoder(item, strict)

    def sequence(value: Any, path: Path, problems: Problems) -> Any:
        if type(value) is not list:
            problems.append((path, _expected("a list", value)))
            return value
        return make([read(item, (path, index), problems) for index, item in enumerate(value)])

    return sequence


def _mapping(item: Any, strict: bool) -> Decoder:
    read = decoder(item, strict)

    def mapping(value: Any, path: Path, problems: Problems) -> Any:
        if type(value) is not dict:
            problems.append((path, _expected("an object", value)))
            return value
        return {name: read(item, (path, name), problems) for name, item in value.items()}

    return mapping


def _union(members: tuple[Any, ...], strict: bool) -> Decoder:
    reads = [decoder(member, strict) for member in members if member is not type(None)]
    optional = len(reads) < len(members)

    def union(value: Any, path: Path, problems: Problems) -> Any:
        if value is None and optional:
            return None
        first: Problems | None = None
        for read in reads:
            found: Problems = []
            result = read(value, path, found)
            if not found:
                return result
            first = found if first is None else first
        problems.extend(first or [])
        return value

    return union


def _one_of(values: tuple[Any, ...]) -> Decoder:
    def one_of(value: Any, path: Path, problems: Problems) -> Any:
        # By type too: True == 1.
        if not any(type(value) is type(known) and value == known for known in values):
            problems.append((path, _expected(" or ".join(_show(known) for known in values), value)))
        return value

    return one_of


def _enum(wanted: type[enum.Enum]) -> Decoder:
    known = _one_of(tuple(member.value for member in wanted))

    def member(value: Any, path: Path, problems: Problems) -> Any:
        before = len(problems)
        known(value, path, problems)
        return wanted(value) if len(problems) == before else value

    return member


class _Record:
    """Reads a dataclass. Its fields are looked at when first needed, so that a class may
    mention itself."""

    def __init__(self, wanted: type, strict: bool) -> None:
        self._wanted = wanted
        self._strict = strict
        self._fields: dict[str, tuple[str, Decoder, bool]] | None = None

    def __call__(self, value: Any, path: Path, problems: Problems) -> Any:
        if type(value) is not dict:
            problems.append((path, _expected("an object", value)))
            return value
        fields = self.fields()
        before = len(problems)
        arguments = {}
        for name, (attribute, read, required) in fields.items():
            if name in value:
                arguments[attribute] = read(value[name], (path, name), problems)
            elif required:
                problems.append(((path, name), "missing"))
        if self._strict:
            known = ", ".join(fields) or "none"
            problems.extend(((path, name), f"unknown field; known: {known}") for name in value if name not in fields)
        return self._wanted(**arguments) if len(problems) == before else value

    def fields(self) -> dict[str, tuple[str, Decoder, bool]]:
        """By JSON name: the attribute, what reads it, and whether it must be there."""
        if self._fields is None:
            hints = typing.get_type_hints(self._wanted)
            self._fields = {
                field.metadata.get("name", _camel_case(field.name)): (
                    field.name,
                    decoder(hints[field.name], self._strict),
                    field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
                )
                for field in dataclasses.fields(self._wanted)
                if field.init
            }
        return self._fields


def prepare(wanted: type) -> None:
    """Looks at a dataclass now: what cannot be read is a `TypeError`."""
    read = decoder(wanted, True)
    if isinstance(read, _Record):
        read.fields()


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other[:1].upper() + other[1:] for other in others)


def _expected(what: str, value: Any) -> str:
    return f"expected {what}, found {_show(value)}"


def _show(value: Any) -> str:
    """The value as in JSON, or its sort where it is long."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "an object"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 64 else text[:60] + "…"
