"""Time and randomness from the host.

In a component the standard library (`time`, `datetime`, `random`, `secrets`, `uuid`) uses
them too. In tests these are the mock's, and the standard library's are the real ones.
"""

from __future__ import annotations

from datetime import UTC, datetime

from ._backend import host

__all__ = ["now", "now_ns", "random"]


def now() -> datetime:
    """The time of day, in UTC. The host's clock is coarse: whole milliseconds."""
    return datetime.fromtimestamp(now_ns() / 1e9, UTC)


def now_ns() -> int:
    """Nanoseconds since 1970-01-01T00:00:00Z."""
    return host().now_ns()


def random(length: int) -> bytes:
    """So many bytes from the host's secure generator; at most 65,536."""
    return host().random(length)
