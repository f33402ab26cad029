"""One call of a handler, whoever makes it: configuration read, event made, function called,
exceptions turned into failures. Knows nothing of WebAssembly.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from types import TracebackType

from . import config
from .config import ConfigError
from .delivery import Change, Delivery
from .errors import ApiError
from .event import Event, ReadError
from .handler import Handler
from .outcome import Failure, Outcome, Permanent, Retry

#: Bytes that the host keeps of a failure's message.
_MAX_MESSAGE = 4096

_HERE = __file__.rpartition("/")[0]


def call(handler: Handler, change: Change, delivery: Callable[[], Delivery]) -> Outcome:
    """Calls the function of the handler. Raises what it raises."""
    event = Event(change, delivery)
    function = _FUNCTIONS[change](handler)
    outcome = function(event)
    if outcome is None:
        return _DONE
    if not isinstance(outcome, Outcome):
        raise TypeError(f"{function.__qualname__} returned {outcome!r}: return an Outcome, or None")
    return outcome


def failure(error: BaseException) -> Failure:
    """What an exception that left a handler means to the host."""
    match error:
        case Failure():
            return error
        case ReadError():
            return Permanent("ObjectInvalid", str(error))
        case ConfigError():
            return Permanent("ConfigInvalid", str(error))
        case ApiError():
            again = Retry(error.reason, str(error))
            again.after_ms = error.after_ms
            return again
        case _:
            return Retry("HandlerError", with_stack(error))


def validate(handler: type[Handler], text: str) -> list[str]:
    """What is wrong with a configuration; nothing if it is good."""
    try:
        return list(config.parse(text, handler).validate())
    except ConfigError as error:
        return error.problems


def summary(error: BaseException) -> str:
    """The type and text of an exception, in one line where it has one."""
    return "".join(traceback.format_exception_only(error)).rstrip("\n")


def with_stack(error: BaseException) -> str:
    """The text of an exception, then its stack, of which the innermost calls are kept."""
    text = summary(error)
    stack = "".join(traceback.format_exception(type(error), error, _own_frames(error.__traceback__))).rstrip("\n")
    for folder in sys.path:
        if folder.startswith("/"):
            stack = stack.replace(f'"{folder}/', '"')
    room = _MAX_MESSAGE - len(text.encode("utf-8", "replace")) - 8
    encoded = stack.encode("utf-8", "replace")
    if len(encoded) > room:
        stack = "…" + encoded[-room:].decode("utf-8", "ignore") if room > 0 else ""
    return f"{text}\n{stack}" if stack else text


def _own_frames(frames: TracebackType | None) -> TracebackType | None:
    """The stack without this package's functions at its start."""
    start = frames
    while start is not None and start.tb_frame.f_code.co_filename.startswith(_HERE):
        start = start.tb_next
    return start if start is not None else frames


_DONE = Outcome.done()
_FUNCTIONS: dict[Change, Callable[[Handler], Callable[[Event], Outcome | None]]] = {
    Change.ADD: lambda handler: handler.add,
    Change.UPDATE: lambda handler: handler.update,
    Change.DELETE: lambda handler: handler.delete,
}
