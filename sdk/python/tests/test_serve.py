"""What the component does around each call, without a component."""

import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import wharf_sdk as wharf
from wharf_sdk import Change, Delivery, Failure, Gvk, ObjectRef, Outcome, Removal, _backend, log
from wharf_sdk._bridge import HostStream
from wharf_sdk._serve import Serve
from wharf_sdk.log import Level
from wharf_sdk.testing._mock import Mock

DELIVERY = Delivery(
    key=ObjectRef(Gvk("v1", "ConfigMap"), "x", "a"),
    resource_version="1",
    deleting=False,
    subscription="main",
    removal=Removal.NONE,
    final_state_unknown=False,
    cause=wharf.Cause.WATCH,
    attempt=1,
    queued=timedelta(),
    budget=timedelta(seconds=1),
    size=0,
    traceparent="",
)


@wharf.plugin
class Plugin(wharf.Handler):
    fail: str = ""

    @classmethod
    def describe(cls) -> wharf.Description:
        raise ValueError("no description")

    def validate(self) -> list[str]:
        if self.fail == "validate":
            raise SystemExit("left")
        return []

    def add(self, event: wharf.Event) -> None:
        log.info("handler", number=id(self))

    def delete(self, event: wharf.Event) -> None:
        raise SystemExit("bye")


@contextmanager
def instance(config: object) -> Iterator[tuple[Serve, Mock, list[str]]]:
    mock, begun = Mock(config), list[str]()
    before = _backend.use(mock)
    try:
        yield Serve(Plugin, (HostStream(Level.INFO, "stdout"),), lambda: begun.append("begun")), mock, begun
    finally:
        _backend.use(before)


class ServeTest(unittest.TestCase):
    def test_an_instance_begins_once_and_has_one_handler(self) -> None:
        with instance({}) as (serve, mock, begun):
            for _ in range(2):
                self.assertEqual(serve.call(Change.ADD, lambda: DELIVERY), Outcome.done())
            self.assertEqual(begun, ["begun"])
            self.assertEqual(len({line.fields["number"] for line in mock.logs}), 1)

    def test_no_exception_leaves_a_call(self) -> None:
        with instance({}) as (serve, _mock, _begun):
            failure = serve.call(Change.DELETE, lambda: DELIVERY)
        assert isinstance(failure, Failure)
        self.assertEqual((failure.permanent, failure.reason), (False, "HandlerError"))
        self.assertTrue(failure.message.startswith("SystemExit: bye\nTraceback"), failure.message)

    def test_a_wrong_configuration_ends_every_call(self) -> None:
        with instance({"fial": ""}) as (serve, _mock, _begun):
            failure = serve.call(Change.ADD, lambda: DELIVERY)
        assert isinstance(failure, Failure)
        self.assertEqual((failure.permanent, failure.reason), (True, "ConfigInvalid"))

    def test_an_exception_in_validate_is_a_refusal_with_its_text(self) -> None:
        with instance({}) as (serve, mock, _begun):
            self.assertEqual(serve.validate_config('{"fail": "validate"}'), ["SystemExit: left"])
            self.assertEqual(serve.validate_config("{}"), [])
            self.assertEqual(serve.validate_config('{"fail": 1}'), ["fail: expected a string, found 1"])
            self.assertEqual([line.level for line in mock.logs], [Level.ERROR])


if __name__ == "__main__":
    unittest.main()
