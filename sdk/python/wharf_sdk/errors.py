"""Why a use of the cluster failed: one exception for each word of the contract.

Uncaught, each is a retry with the reason that it names; a throttled one comes back when the
host said.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "AlreadyExists",
    "ApiError",
    "Conflict",
    "DecodeError",
    "Forbidden",
    "Invalid",
    "NotFound",
    "NotGranted",
    "Throttled",
    "TooLarge",
    "Unavailable",
]


class ApiError(Exception):
    """A use of the cluster failed. Always one of the classes below."""

    #: The word of the contract.
    word: ClassVar[str] = ""
    #: The reason of the retry that it becomes if it is not caught.
    reason: ClassVar[str] = "ApiError"

    def __init__(self, text: str = "") -> None:
        super().__init__(text)
        #: What the host or the API server says; may be empty.
        self.text = text

    @property
    def after_ms(self) -> int | None:
        """Not before so many milliseconds, where that is known."""
        return None

    def __str__(self) -> str:
        words = self.word.replace("-", " ")
        return f"{words}: {self.text}" if self.text else words


class NotGranted(ApiError):
    """The Plugin document does not grant it; nothing was sent. The text says how to grant it."""

    word = "not-granted"
    reason = "GrantMissing"


class Forbidden(ApiError):
    """The plugin's identity does not have the right."""

    word = "forbidden"
    reason = "Forbidden"


class NotFound(ApiError):
    """No such object; for a write also: no such namespace."""

    word = "not-found"


class Conflict(ApiError):
    """Another state, or a field of another manager."""

    word = "conflict"
    reason = "Conflict"


class AlreadyExists(ApiError):
    """The name is taken."""

    word = "already-exists"


class Invalid(ApiError):
    """The API server does not accept the object or the request."""

    word = "invalid"


class Throttled(ApiError):
    """Too many requests: try again after some time."""

    word = "throttled"
    reason = "ServerUnavailable"

    def __init__(self, after_ms: int) -> None:
        super().__init__(f"try again after {after_ms} ms")
        self.args = (after_ms,)
        self._after_ms = after_ms

    @property
    def after_ms(self) -> int:
        return self._after_ms


class Unavailable(ApiError):
    """The API server cannot be reached or is not able to answer."""

    word = "unavailable"
    reason = "ServerUnavailable"


class TooLarge(ApiError):
    """The object or the answer is larger than the host hands over."""

    word = "too-large"


class DecodeError(ApiError):
    """The answer does not have the asked for type, or the object cannot be written as JSON.
    Only inside the plugin: the host never says this."""

    word = "cannot-be-read"
    reason = "ObjectInvalid"
