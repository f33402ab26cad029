"""Commands that use what is no object and no cluster: log, configuration, time, randomness."""

import logging
import random
import time

import wharf_sdk as wharf
from wharf_sdk import config, log, system
from wharf_sdk.log import Level

from answers import Command, args, report


def line(event: wharf.Event) -> None:
    given = args(event)
    log.emit(Level[given["level"].upper()], given["message"], given.get("fields", []))


def native_log(event: wharf.Event) -> None:
    message = args(event)["message"]
    # `logging` has no level trace.
    for write in (logging.debug, logging.info, logging.warning, logging.error):
        write("%s", message)


def print_line(event: wharf.Event) -> None:
    print(args(event)["message"])


def enabled(_event: wharf.Event) -> None:
    report({level.name.lower(): log.enabled(level) for level in Level})


def config_value(event: wharf.Event) -> None:
    report(config.raw(args(event)["pointer"]))


def now(_event: wharf.Event) -> None:
    report(int(system.now().timestamp()))


def native_now(_event: wharf.Event) -> None:
    report(int(time.time()))


def random_bytes(event: wharf.Event) -> None:
    data = system.random(args(event)["len"])
    report(len(data) if len(data) > 64 else data.hex())


def native_random(_event: wharf.Event) -> None:
    report([random.random(), random.random()])


COMMANDS: dict[str, Command] = {
    "log": line,
    "native-log": native_log,
    "print": print_line,
    "enabled": enabled,
    "config-value": config_value,
    "now": now,
    "native-now": native_now,
    "random": random_bytes,
    "native-random": native_random,
}
