"""Calls of a handler: configuration, reading, and how they end."""

import unittest
from datetime import UTC, datetime, timedelta
from typing import Any

import wharf_sdk as wharf
from wharf_sdk import Cause, Change, Outcome, Permanent, Removal, Retry, cluster, config, log, system
from wharf_sdk.log import Level
from wharf_sdk.testing import Call, Host

SHOP = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"namespace": "shop", "name": "web", "uid": "u1", "labels": {"a/b": "c", "n": 1}},
    "spec": {"replicas": 3, "big": 12345678901234567890123, "null": None},
}


def plugin(add: Any) -> type[wharf.Handler]:
    """A plugin with this function."""

    @wharf.plugin
    class Plugin(wharf.Handler):
        greeting: str = "hello"
        max_age: int = 0

        @classmethod
        def describe(cls) -> wharf.Description:
            greeting = config.get("/greeting", str)
            return wharf.Description(greeting or "none", "1", [wharf.Subscription("main", "v1", "ConfigMap")])

        def validate(self) -> list[str]:
            return ["maxAge: must not be negative"] if self.max_age < 0 else []

        def add(self, event: wharf.Event) -> Outcome | None:
            result: Outcome | None = add(self, event)
            return result

    return Plugin


class CallTest(unittest.TestCase):
    def ends(self, add: Any, host: Host | None = None) -> Outcome:
        return (host or Host()).add(plugin(add), SHOP)

    def fails(self, error: Exception, kind: type[wharf.Failure], reason: str, message: str) -> wharf.Failure:
        def add(_self: object, _event: wharf.Event) -> None:
            raise error

        with self.assertRaises(kind) as raised:
            self.ends(add)
        self.assertEqual(raised.exception.reason, reason)
        self.assertIn(message, raised.exception.message)
        return raised.exception

    def test_outcomes(self) -> None:
        self.assertEqual(self.ends(lambda _self, _event: None), Outcome.done())
        requeue = Outcome.requeue_after(timedelta(milliseconds=1001))
        self.assertEqual(self.ends(lambda _self, _event: requeue).after_ms, 1001)
        self.assertEqual(Outcome.requeue_after(1.001).after_ms, 1001)
        self.assertEqual(Outcome.requeue_after(-1).after_ms, 0)
        self.assertEqual(Outcome.requeue_after(timedelta(days=365)).after_ms, 2**32 - 1)

    def test_failures_keep_what_they_say(self) -> None:
        self.assertEqual(self.fails(Retry("Busy", "later", 0.25), Retry, "Busy", "later").after_ms, 250)
        self.assertTrue(self.fails(Permanent("Never", "no"), Permanent, "Never", "no").permanent)

    def test_other_exceptions_are_retries_with_their_stack(self) -> None:
        failure = self.fails(ValueError("boom"), Retry, "HandlerError", "ValueError: boom\nTraceback")
        self.assertIn("test_handler.py", failure.message)
        self.assertIsInstance(failure.__cause__, ValueError)
        long = self.fails(ValueError("x" * 10_000), Retry, "HandlerError", "ValueError: xxx")
        self.assertNotIn("Traceback", long.message)

    def test_a_result_that_is_no_outcome_is_an_error(self) -> None:
        with self.assertRaisesRegex(Retry, "returned 5: return an Outcome, or None"):
            self.ends(lambda _self, _event: 5)

    def test_api_errors_are_retries_with_their_reason(self) -> None:
        for error, reason, text in (
            (cluster.NotGranted("x"), "GrantMissing", "not granted: x"),
            (cluster.Forbidden("x"), "Forbidden", "forbidden: x"),
            (cluster.NotFound(), "ApiError", "not found"),
            (cluster.Conflict("x"), "Conflict", "conflict: x"),
            (cluster.AlreadyExists(), "ApiError", "already exists"),
            (cluster.Invalid("x"), "ApiError", "invalid: x"),
            (cluster.Unavailable("x"), "ServerUnavailable", "unavailable: x"),
            (cluster.TooLarge(), "ApiError", "too large"),
            (cluster.DecodeError("x"), "ObjectInvalid", "cannot be read: x"),
        ):
            with self.subTest(error=error):
                self.assertIsNone(self.fails(error, Retry, reason, text).after_ms)
        self.assertEqual(self.fails(cluster.Throttled(300), Retry, "ServerUnavailable", "throttled").after_ms, 300)

    def test_reading(self) -> None:
        def add(_self: object, event: wharf.Event) -> None:
            self.assertEqual((event.name, event.namespace, str(event.key)), ("web", "shop", "shop/web"))
            self.assertEqual((event.key.kind.group, event.key.kind.version), ("apps", "v1"))
            self.assertEqual(event.get("/spec/replicas", int), 3)
            self.assertIsNone(event.get("/spec/nothing", int))
            self.assertIsNone(event.get("/spec/null", int))
            self.assertEqual(event.raw("/spec/null"), "null")
            self.assertEqual(event.raw("/spec/big"), "12345678901234567890123")
            self.assertEqual(event.get_many(["/spec/replicas", "/x"], int), [3, None])
            self.assertEqual(event.label("a/b"), "c")
            self.assertIsNone(event.annotation("a"))
            self.assertEqual(event.object(), SHOP | {"metadata": (event.object() or {})["metadata"]})
            self.assertIsNone(event.previous.json())
            self.assertTrue(event.changed("/spec/replicas"))
            self.assertLess(event.remaining(), event.delivery.budget)
            self.assertEqual((event.change, event.delivery.cause), (Change.ADD, "watch"))

        self.assertEqual(self.ends(add), Outcome.done())

    def test_a_value_of_another_type_is_permanent_and_named(self) -> None:
        with self.assertRaises(Permanent) as raised:
            self.ends(lambda _self, event: event.label("n"))
        self.assertEqual(raised.exception.reason, "ObjectInvalid")
        self.assertEqual(str(raised.exception.message), "/metadata/labels/n cannot be read: expected a string, found 1")

    def test_update_is_add_and_delete_nothing_unless_written(self) -> None:
        def add(_self: object, event: wharf.Event) -> None:
            log.info("called", change=event.change, changed=event.changed_each(["/spec/replicas", "/kind"]))

        host, handler = Host(), plugin(add)
        host.update(handler, SHOP, SHOP | {"spec": {"replicas": 4}})
        host.delete(handler, SHOP)
        [line] = host.logs
        self.assertEqual(line.fields, {"change": "update", "changed": "[True, False]"})
        self.assertIsNone(host.get("apps/v1", "Deployment", "shop", "web"))

    def test_everything_that_a_host_can_say(self) -> None:
        def add(_self: object, event: wharf.Event) -> None:
            self.assertEqual((event.delivery.cause, event.delivery.attempt), (Cause.RETRY, 3))
            self.assertIsNone(event.object())
            self.assertEqual(event.delivery.size, 0)

        call = Call(change=Change.ADD, current=SHOP, cause=Cause.RETRY, attempt=3, without_object=True)
        self.assertEqual(Host().call(plugin(add), call), Outcome.done())
        call = Call(change=Change.DELETE, current=SHOP, removal=Removal.UNMATCHED)
        host = Host()
        host.put(SHOP)
        host.call(plugin(add), call)
        self.assertIsNotNone(host.get("apps/v1", "Deployment", "shop", "web"))


class ConfigTest(unittest.TestCase):
    def test_fields_are_the_configuration(self) -> None:
        def add(self: Any, _event: wharf.Event) -> None:
            log.info(self.greeting, age=self.max_age, raw=config.raw("/maxAge"))

        host = Host({"greeting": "hi", "maxAge": 3})
        host.add(plugin(add), SHOP)
        self.assertEqual((host.logs[0].message, host.logs[0].fields), ("hi", {"age": "3", "raw": "3"}))

    def test_all_that_is_wrong_is_said(self) -> None:
        handler = plugin(None)
        host = Host({"greeting": 1, "maxage": 3})
        problems = ["greeting: expected a string, found 1", "maxage: unknown field; known: greeting, maxAge"]
        self.assertEqual(host.validate(handler), problems)
        self.assertEqual(Host({"maxAge": -1}).validate(handler), ["maxAge: must not be negative"])
        self.assertEqual(Host([]).validate(handler), ["config: expected an object, found a list"])
        with self.assertRaises(Permanent) as raised:
            host.add(handler, SHOP)
        self.assertEqual(raised.exception.reason, "ConfigInvalid")

    def test_description_may_depend_on_it(self) -> None:
        described = Host({"greeting": "hi"}).describe(plugin(None))
        self.assertEqual(described["name"], "hi")
        self.assertEqual(described["subscribe"], [{"name": "main", "apiVersion": "v1", "kind": "ConfigMap"}])
        self.assertIn("HandlerError", described["reasons"])

    def test_what_cannot_be_a_plugin_is_refused_when_it_is_written(self) -> None:
        class Async(wharf.Handler):
            async def add(self, event: wharf.Event) -> None:  # type: ignore[override]
                pass

        class Field(wharf.Handler):
            names: set[str]

        for wrong, text in ((Async, "must not be async"), (Field, "cannot be read from JSON"), (int, "extend")):
            with self.subTest(wrong=wrong), self.assertRaisesRegex(TypeError, text):
                wharf.plugin(wrong)  # type: ignore[type-var]


class HostTest(unittest.TestCase):
    def test_there_is_no_host_outside_of_a_call(self) -> None:
        with self.assertRaisesRegex(RuntimeError, "wharf_sdk.testing.Host"):
            system.now()

    def test_clock_and_level_are_the_tests(self) -> None:
        def add(_self: object, _event: wharf.Event) -> None:
            log.info(system.now().isoformat(), random=len(system.random(8)))
            log.debug("dropped", kept=log.enabled(Level.DEBUG))

        host = Host()
        host.now(datetime(2026, 1, 1, tzinfo=UTC))
        host.log_level(Level.INFO)
        host.add(plugin(add), SHOP)
        self.assertEqual([line.message for line in host.logs], ["2026-01-01T00:00:00.001000+00:00"])

    def test_description_has_the_words_of_the_document(self) -> None:
        description = wharf.Description(
            "a",
            "1",
            [
                wharf.Subscription("main", "v1", "ConfigMap", label_selector="team", events=[Change.ADD, "delete"]),
                wharf.Subscription("maps", "v1", "Secret", field_selector="metadata.name=x", events=[]),
            ],
            reasons=["Mine", "Mine", "Conflict", *(f"R{number}" for number in range(20))],
            memory="48Mi",
            deadline=timedelta(seconds=2),
            cpu=0.25,
            concurrency=2,
        )

        @wharf.plugin
        class Plugin(wharf.Handler):
            @classmethod
            def describe(cls) -> wharf.Description:
                return description

        said = Host().describe(Plugin)
        self.assertEqual(said["limits"], {"memory": "48Mi", "deadline": "2000ms", "cpu": "250ms", "concurrency": 2})
        self.assertEqual((len(said["reasons"]), said["reasons"][:3]), (16, ["Mine", "Conflict", "R0"]))
        main, maps = said["subscribe"]
        self.assertEqual((main["labelSelector"], main["events"]), ("team", ["add", "delete"]))
        self.assertEqual((maps["fieldSelector"], maps["events"]), ("metadata.name=x", []))


if __name__ == "__main__":
    unittest.main()
