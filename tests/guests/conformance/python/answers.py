"""How the commands get their arguments and answer."""

import json
from collections.abc import Callable
from typing import Any

import wharf_sdk as wharf
from wharf_sdk import log

#: A command.
Command = Callable[[wharf.Event], wharf.Outcome | None]


def args(event: wharf.Event) -> dict[str, Any]:
    """The arguments of a command."""
    return event.get("/args", dict) or {}


def report(value: object) -> None:
    """The answer of a command: one log line with a JSON text."""
    log.info("result", value=json.dumps(value, ensure_ascii=False))


def unknown(event: wharf.Event) -> None:
    """There is no such command."""
    raise wharf.Permanent("UnknownCommand", f"there is no command {event.raw('/do')}")
