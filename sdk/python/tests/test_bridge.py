"""What `logging` and `print` become, by the handler and the streams themselves."""

import logging
import sys
import unittest

import wharf_sdk as wharf
from wharf_sdk._bridge import HostHandler, HostStream, level_of
from wharf_sdk.log import Level
from wharf_sdk.testing import Host, LogLine


class BridgeTest(unittest.TestCase):
    def lines(self, work: object) -> list[LogLine]:
        """The lines that this writes inside of a handler, with a logger of its own."""
        logger = logging.getLogger("a.b")
        logger.handlers, logger.propagate = [HostHandler()], False
        logger.setLevel(logging.DEBUG)

        @wharf.plugin
        class Plugin(wharf.Handler):
            def add(self, event: wharf.Event) -> None:
                work(logger)  # type: ignore[operator]

        host = Host()
        host.add(Plugin, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}})
        return host.logs

    def test_records_keep_level_fields_and_exception(self) -> None:
        def work(logger: logging.Logger) -> None:
            logger.warning("w %s", 1, extra={"items": 3})
            try:
                raise KeyError("x")
            except KeyError:
                logger.exception("oops")
            logger.info("%d", "x")

        first, second, third = self.lines(work)
        self.assertEqual(first, LogLine(Level.WARN, "w 1", {"items": "3", "logger": "a.b"}))
        self.assertEqual((second.level, second.message), (Level.ERROR, "oops"))
        self.assertIn("KeyError: 'x'", second.fields["exception"])
        self.assertIn("%d [TypeError: ", third.message)

    def test_levels(self) -> None:
        for number, level in (
            (1, Level.TRACE),
            (10, Level.DEBUG),
            (25, Level.INFO),
            (30, Level.WARN),
            (50, Level.ERROR),
        ):
            self.assertEqual(level_of(number), level)

    def test_printed_text_becomes_lines(self) -> None:
        stream, stdout = HostStream(Level.INFO, "stdout"), sys.stdout

        def work(_logger: logging.Logger) -> None:
            print("one\ntwo", file=stream)
            print("no ", "end", sep="", end="", file=stream)
            stream.end()
            stream.end()

        lines = self.lines(work)
        self.assertEqual([line.message for line in lines], ["one", "two", "no end"])
        self.assertEqual(lines[0], LogLine(Level.INFO, "one", {"stream": "stdout"}))
        self.assertIs(sys.stdout, stdout)


if __name__ == "__main__":
    unittest.main()
