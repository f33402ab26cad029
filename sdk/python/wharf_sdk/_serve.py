"""The plugin of a component, as the host calls it: what comes before and after each call, and
that no exception leaves it. Knows neither the generated modules nor WASI.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from . import _call, config, log
from ._bridge import HostStream
from .delivery import Change, Delivery
from .handler import Handler
from .log import Level
from .outcome import Failure, Outcome


class Serve:
    """One plugin in one instance of the component."""

    def __init__(self, plugin: type[Handler], streams: tuple[HostStream, ...], begin: Callable[[], None]) -> None:
        self._plugin = plugin
        self._streams = streams
        self._begin: Callable[[], None] | None = begin
        self._handler: Handler | None = None

    def validate_config(self, text: str) -> list[str]:
        """What is wrong with a configuration; an exception is wrong too."""
        try:
            self._start()
            return _call.validate(self._plugin, text)
        except BaseException as error:
            # Whatever it is: the host must hear of it, and a trap tells nothing.
            log.emit(Level.ERROR, _call.with_stack(error))
            return [_call.summary(error)]
        finally:
            self._end()

    def describe(self) -> str:
        """The description. What is raised here becomes a trap, whose text for the host is the
        last error line.
        """
        try:
            self._start()
            return self._plugin.describe().to_json()
        except BaseException as error:
            log.emit(Level.ERROR, _call.with_stack(error))
            # The interpreter would print it once more, line by line.
            sys.stderr = None
            raise
        finally:
            self._end()

    def call(self, change: Change, delivery: Callable[[], Delivery]) -> Outcome | Failure:
        """One call of the handler, which is read from the configuration once per instance."""
        try:
            self._start()
            if self._handler is None:
                self._handler = config.read(self._plugin)
            return _call.call(self._handler, change, delivery)
        except BaseException as error:
            # SystemExit and its like too: only the host ends an instance.
            return _call.failure(error)
        finally:
            self._end()

    def _start(self) -> None:
        if self._begin is not None:
            begin, self._begin = self._begin, None
            begin()

    def _end(self) -> None:
        for stream in self._streams:
            stream.end()
