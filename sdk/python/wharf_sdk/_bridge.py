"""What plugins write by the standard library's own means, sent to the host's log: `logging`
as lines of its levels, `print` as lines of level info, standard error as warnings.
"""

from __future__ import annotations

import io
import logging
import sys

from . import log
from .log import Level

#: What every record has: all else came by `extra`.
_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class HostHandler(logging.Handler):
    """Sends records of `logging` to the host. What was given as `extra` becomes fields, the
    logger's name the field `logger`, an exception the field `exception`.
    """

    def emit(self, record: logging.LogRecord) -> None:
        level = level_of(record.levelno)
        if not log.enabled(level):
            return
        try:
            message = record.getMessage()
        except Exception as error:
            # The arguments do not fit the text: `logging` would print that to nowhere.
            message = f"{record.msg} [{type(error).__name__}: {error}]"
        fields = [(name, value) for name, value in vars(record).items() if name not in _PLAIN]
        if record.name != "root":
            fields.append(("logger", record.name))
        if record.exc_info:
            fields.append(("exception", _FORMATTER.formatException(record.exc_info)))
        log.emit(level, message, fields)


class HostStream(io.TextIOBase):
    """A stream whose lines are log lines, with the field `stream` that the host also gives to
    those of other languages. What has no line end yet waits for `end`.
    """

    def __init__(self, level: Level, name: str) -> None:
        super().__init__()
        self._level = level
        self._name = name
        self._rest = ""

    encoding = "utf-8"

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            if line:
                log.emit(self._level, line, [("stream", self._name)])
        return len(text)

    def end(self) -> None:
        """The call is over: what is left is a line too."""
        if self._rest:
            self.write("\n")


def level_of(number: int) -> Level:
    """The host's level for a number of `logging`."""
    for level in (Level.ERROR, Level.WARN, Level.INFO, Level.DEBUG):
        if number >= level:
            return level
    return Level.TRACE


def install() -> tuple[HostStream, HostStream]:
    """Puts the bridges in place; returns the streams."""
    root = logging.getLogger()
    root.handlers[:] = [HostHandler()]
    # The host decides what is kept.
    root.setLevel(logging.NOTSET + 1)
    logging.raiseExceptions = False
    # One task, one thread, one process: nobody asks.
    for question in ("logAsyncioTasks", "logThreads", "logProcesses"):
        setattr(logging, question, False)
    streams = HostStream(Level.INFO, "stdout"), HostStream(Level.WARN, "stderr")
    sys.stdout, sys.stderr = streams
    return streams


_FORMATTER = logging.Formatter()
