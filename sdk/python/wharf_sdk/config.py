"""The plugin's configuration: `spec.config` of the Plugin document.

Fixed for the life of an instance. The handler itself is read from it; this is for
`Handler.describe`, which has no handler yet, and for parts of unknown form.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar, overload

from ._backend import host
from ._decode import Mismatch, Problems, decode, dotted

__all__ = ["ConfigError", "get", "raw", "read"]

T = TypeVar("T")


class ConfigError(Exception):
    """The configuration does not have the asked for type."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(problems)
        #: What is wrong, one sentence each.
        self.problems = problems

    def __str__(self) -> str:
        return "config: " + "; ".join(self.problems)


def read(wanted: type[T]) -> T:
    """The whole configuration as a type; fields that a dataclass does not have are refused.

    Raises `ConfigError` if it does not have that form.
    """
    return parse(host().config_json(), wanted)


@overload
def get(pointer: str) -> Any: ...
@overload
def get(pointer: str, wanted: type[T]) -> T | None: ...
def get(pointer: str, wanted: Any = Any) -> Any:
    """The value at an RFC 6901 pointer; None if nothing is there.

    Raises `ConfigError` if there is a value of another type.
    """
    text = host().config_get(pointer)
    return None if text is None else parse(text, wanted, pointer)


def raw(pointer: str) -> str | None:
    """The JSON text at an RFC 6901 pointer; None if nothing is there."""
    return host().config_get(pointer)


def parse(text: str, wanted: type[T], pointer: str = "") -> T:
    """Configuration text as a type; raises `ConfigError`."""
    try:
        return decode(json.loads(text), wanted, strict=True)
    except Mismatch as error:
        raise ConfigError(_sentences(error.problems, pointer)) from None
    except ValueError as error:
        raise ConfigError([f"{pointer or 'config'}: {error}"]) from None


def _sentences(problems: Problems, pointer: str) -> list[str]:
    before = pointer.removeprefix("/").replace("/", ".")
    sentences = []
    for path, text in problems:
        where = ".".join(part for part in (before, dotted(path)) if part)
        sentences.append(f"{where or 'config'}: {text}")
    return sentences
