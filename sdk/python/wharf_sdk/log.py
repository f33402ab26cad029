"""Log lines of the plugin: a constant message, and values in fields.

The host adds plugin, revision, key and trace, and drops what is over the plugin's rate. The
standard `logging` and `print` end in the same log; only these functions have fields by name
and the level trace.

    log.info("copied", target="team-b", items=3)
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

from ._backend import host

__all__ = ["Level", "debug", "emit", "enabled", "error", "info", "trace", "warn"]


class Level(enum.IntEnum):
    """How much a line matters; the numbers are those of `logging`."""

    #: Every step.
    TRACE = 5
    #: For whoever looks for a bug.
    DEBUG = 10
    #: What happened.
    INFO = 20
    #: What should not be, and did not stop the work.
    WARN = 30
    #: What stopped the work.
    ERROR = 40


def enabled(level: Level) -> bool:
    """False if the host would drop a line of this level."""
    return host().log_enabled(level)


def emit(level: Level, message: str, fields: Iterable[tuple[str, object]] = ()) -> None:
    """Writes one line. The functions named after the levels are shorter."""
    host().log_emit(level, message, [(name, str(value)) for name, value in fields])


def trace(message: str, /, **fields: object) -> None:
    """Writes a line of level trace."""
    _line(Level.TRACE, message, fields)


def debug(message: str, /, **fields: object) -> None:
    """Writes a line of level debug."""
    _line(Level.DEBUG, message, fields)


def info(message: str, /, **fields: object) -> None:
    """Writes a line of level info."""
    _line(Level.INFO, message, fields)


def warn(message: str, /, **fields: object) -> None:
    """Writes a line of level warn."""
    _line(Level.WARN, message, fields)


def error(message: str, /, **fields: object) -> None:
    """Writes a line of level error."""
    _line(Level.ERROR, message, fields)


def _line(level: Level, message: str, fields: dict[str, object]) -> None:
    to = host()
    # Lines below warn are often dropped: asking costs less than writing.
    if level >= Level.WARN or to.log_enabled(level):
        to.log_emit(level, message, [(name, str(value)) for name, value in fields.items()])
