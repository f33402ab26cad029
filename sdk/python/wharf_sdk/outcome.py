"""How a call ends: done, again later, or failed.

Owns the exceptions that a handler raises on purpose, and what becomes of the others. Never
decides when a key comes back: the host's queue does.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

__all__ = ["Failure", "Outcome", "Permanent", "Retry"]

#: The reasons that this package itself uses; every description lists them.
SDK_REASONS = (
    "ConfigInvalid",
    "ObjectInvalid",
    "GrantMissing",
    "Forbidden",
    "Conflict",
    "ServerUnavailable",
    "ApiError",
    "HandlerError",
)

_U32_MAX = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class Outcome:
    """A call that succeeded. A handler that returns None says the same as `Outcome.done()`."""

    #: Milliseconds after which the host calls again even if nothing changes; None: not.
    after_ms: int | None = None

    @staticmethod
    def done() -> Outcome:
        """Forget the key until it changes again."""
        return _DONE

    @staticmethod
    def requeue_after(after: timedelta | float) -> Outcome:
        """Call again after this time (a number: seconds) even if nothing changes."""
        return Outcome(milliseconds(after))


_DONE = Outcome()


class Failure(Exception):
    """A call that failed, as the plugin says. Raise `Retry` or `Permanent`."""

    #: Is the key given up until the object changes?
    permanent: bool = False

    def __init__(self, reason: str, message: str, after: timedelta | float | None = None) -> None:
        super().__init__(reason, message, after)
        #: One CamelCase word.
        self.reason = reason
        #: What happened, for people.
        self.message = message
        #: Not before so many milliseconds; None: the queue's backoff decides.
        self.after_ms = None if after is None else milliseconds(after)

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"


class Retry(Failure):
    """Try again, with the queue's backoff, or not before `after` (a number: seconds).

    `reason` is one CamelCase word and a metric label: list it in the description, else it
    counts as `Other`.
    """


class Permanent(Failure):
    """Do not try again until the object changes."""

    permanent = True

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(reason, message)
        # What pickle and copy pass to the constructor.
        self.args = (reason, message)


def milliseconds(time: timedelta | float) -> int:
    """Whole milliseconds, at least 0 and at most what the contract holds (49 days)."""
    whole = time // timedelta(milliseconds=1) if isinstance(time, timedelta) else round(time * 1000)
    return max(0, min(whole, _U32_MAX))
