"""Commands that end the call, well or badly, and those that look for what is left of the call
before.
"""

from datetime import timedelta
from itertools import count
from typing import NoReturn

import wharf_sdk as wharf

from answers import Command, args, report

_calls = count(1)


def done(_event: wharf.Event) -> wharf.Outcome:
    return wharf.Outcome.done()


def requeue(event: wharf.Event) -> wharf.Outcome:
    return wharf.Outcome.requeue_after(timedelta(milliseconds=args(event)["ms"]))


def retry(event: wharf.Event) -> NoReturn:
    given = args(event)
    ms = given.get("ms")
    after = None if ms is None else timedelta(milliseconds=ms)
    raise wharf.Retry(given["reason"], given["message"], after)


def permanent(event: wharf.Event) -> NoReturn:
    given = args(event)
    raise wharf.Permanent(given["reason"], given["message"])


def error(event: wharf.Event) -> NoReturn:
    raise ValueError(args(event)["message"])


def panic(event: wharf.Event) -> NoReturn:
    raise SystemError(args(event)["message"])


def throw_value(event: wharf.Event) -> NoReturn:
    raise SystemExit(args(event)["message"])


def recurse(_event: wharf.Event) -> None:
    def deeper(depth: int) -> int:
        return deeper(depth + 1) + 1

    report(deeper(0))


def spin(_event: wharf.Event) -> NoReturn:
    turns = 0
    while True:
        turns += 1


def allocate(_event: wharf.Event) -> NoReturn:
    kept = []
    while True:
        kept.append(bytearray(1 << 20))


def count_calls(_event: wharf.Event) -> None:
    report(next(_calls))


def churn(event: wharf.Event) -> None:
    text = "x" * args(event)["bytes"]
    del text
    report(next(_calls))


COMMANDS: dict[str, Command] = {
    "done": done,
    "requeue": requeue,
    "retry": retry,
    "permanent": permanent,
    "error": error,
    "rejected": error,
    "leave": error,
    "panic": panic,
    "throw-value": throw_value,
    "recurse": recurse,
    "spin": spin,
    "allocate": allocate,
    "count": count_calls,
    "churn": churn,
}
