"""The conformance guest in Python: does what the object of the event tells it to, so that one
suite can compare the languages. `../README.md` says what each command does; this file owns
the configuration and the choice of the command.
"""

import wharf_sdk as wharf
from wharf_sdk import config

import commands_cluster
import commands_crash
import commands_host
import commands_read
from answers import report, unknown

_COMMANDS = commands_read.COMMANDS | commands_host.COMMANDS | commands_crash.COMMANDS | commands_cluster.COMMANDS


@wharf.plugin
class Conformance(wharf.Handler):
    """The configuration."""

    greeting: str = "hello"
    number: int = 0
    tags: tuple[str, ...] = ()

    @classmethod
    def describe(cls) -> wharf.Description:
        if config.raw("/greeting") == '"throw-in-describe"':
            raise SystemError("thrown in describe")
        main = wharf.Subscription("main", "v1", "ConfigMap")
        return wharf.Description("conformance-python", "0.1.0", [main], reasons=["Custom", "UnknownCommand"])

    def validate(self) -> list[str]:
        if self.greeting == "throw":
            raise SystemError("thrown in validate")
        wrong = []
        if not self.greeting:
            wrong.append("greeting: must not be empty")
        if self.number < 0:
            wrong.append("number: must not be negative")
        return wrong

    def add(self, event: wharf.Event) -> wharf.Outcome | None:
        command = event.get("/do", str) or ""
        if command == "config":
            report({"greeting": self.greeting, "number": self.number, "tags": self.tags})
            return None
        return _COMMANDS.get(command, unknown)(event)

    def delete(self, event: wharf.Event) -> wharf.Outcome | None:
        return self.add(event)
