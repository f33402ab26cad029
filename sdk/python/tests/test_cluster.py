"""The mock's cluster, used as a plugin uses the real one."""

import unittest
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import wharf_sdk as wharf
from wharf_sdk import Gvk, ObjectRef, cluster
from wharf_sdk.cluster import DeleteOptions, ListOptions, ReadOptions, WriteOptions
from wharf_sdk.testing import Host, Operation

MAP = Gvk("v1", "ConfigMap")


def config_map(name: str, **members: Any) -> dict[str, Any]:
    metadata = {"namespace": "a", "name": name} | members.pop("metadata", {})
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **members}


@dataclass(frozen=True)
class Metadata:
    name: str
    resource_version: str


@dataclass(frozen=True)
class Named:
    metadata: Metadata


class ClusterTest(unittest.TestCase):
    def setUp(self) -> None:
        self.host = Host()

    def during_a_call(self, work: Callable[[], None]) -> None:
        """Runs this inside of a handler."""

        @wharf.plugin
        class Plugin(wharf.Handler):
            def add(self, event: wharf.Event) -> None:
                try:
                    work()
                except AssertionError as error:
                    raise wharf.Permanent("Assertion", str(error)) from error

        self.host.add(Plugin, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}})

    def test_objects_come_as_dicts_or_as_ones_own_types(self) -> None:
        def work() -> None:
            self.assertEqual(cluster.get(MAP, "a", "x")["data"], {"k": "v", "l": "w"})
            options = ReadOptions(fields=["/data/k", "/metadata/name", "/nothing"])
            cut = {"data": {"k": "v"}, "metadata": {"name": "x"}}
            self.assertEqual(cluster.get(MAP, "a", "x", options=options), cut)
            self.assertEqual(cluster.get(MAP, "a", "x", Named).metadata.name, "x")
            with self.assertRaisesRegex(cluster.DecodeError, "/metadata/resourceVersion: missing"):
                cluster.get(MAP, "a", "x", Named, options)
            with self.assertRaises(cluster.NotFound):
                cluster.get(MAP, "b", "x")

        self.host.put(config_map("x", data={"k": "v", "l": "w"}))
        self.during_a_call(work)

    def test_lists_go_through_pages_and_selectors(self) -> None:
        def names(**options: Any) -> list[str]:
            return [item["metadata"]["name"] for item in cluster.list_all(MAP, ListOptions(**options))]

        def work() -> None:
            self.assertEqual(names(limit=2), ["a", "b", "c"])
            page = cluster.list_page(MAP, ListOptions(limit=2))
            self.assertEqual((len(page.items), page.continue_token), (2, "2"))
            self.assertEqual(names(namespace="b"), [])
            self.assertEqual(names(field_selector="metadata.name!=a"), ["b", "c"])
            for selector, found in (
                ("t", ["a", "b"]),
                ("!t", ["c"]),
                ("t=x", ["a"]),
                ("t==x", ["a"]),
                ("t!=x", ["b", "c"]),
                ("t in (x, y)", ["a", "b"]),
                ("t notin (x),t", ["b"]),
            ):
                with self.subTest(selector):
                    self.assertEqual(names(label_selector=selector), found)
            for wrong in ("=x", "a b", "t in x"):
                with self.subTest(wrong), self.assertRaises(cluster.Invalid):
                    names(label_selector=wrong)

        for name, labels in (("a", {"t": "x"}), ("b", {"t": "y"}), ("c", {})):
            self.host.put(config_map(name, metadata={"labels": labels}))
        self.during_a_call(work)

    def test_apply_takes_back_what_is_left_out(self) -> None:
        def work() -> None:
            cluster.apply(config_map("x", data={"a": "1", "b": "2"}))
            written = cluster.apply(config_map("x", data={"a": "3"}), WriteOptions(fields=["/data"]))
            self.assertEqual(written.object, '{"data": {"other": "0", "a": "3"}}')

        self.host.put(config_map("x", data={"other": "0"}))
        self.during_a_call(work)
        self.assertEqual([write.operation for write in self.host.writes], [Operation.APPLY, Operation.APPLY])

    def test_create_patch_and_delete(self) -> None:
        def work() -> None:
            first = cluster.create(config_map("x", data={"a": "1"}))
            with self.assertRaises(cluster.AlreadyExists):
                cluster.create('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"a","name":"x"}}')
            target = ObjectRef(MAP, "x", "a")
            cluster.merge_patch(target, {"data": {"a": None, "b": "2"}})
            with self.assertRaises(cluster.Conflict):
                cluster.merge_patch(target, {}, WriteOptions(if_resource_version=first.resource_version))
            self.assertEqual(cluster.get(MAP, "a", "x")["data"], {"b": "2"})
            cluster.delete(target, DeleteOptions(dry_run=True))
            with self.assertRaises(cluster.Conflict):
                cluster.delete(ObjectRef(MAP, "x", "a", uid="another"))
            cluster.delete(target)
            with self.assertRaises(cluster.NotFound):
                cluster.delete(target)
            with self.assertRaisesRegex(cluster.DecodeError, "no JSON"):
                cluster.create({"data": object()})

        self.during_a_call(work)
        self.assertIsNone(self.host.get("v1", "ConfigMap", "a", "x"))

    def test_failures_are_used_up_in_order(self) -> None:
        def work() -> None:
            for _ in range(2):
                with self.assertRaises(cluster.ApiError):
                    cluster.apply(config_map("x"))
            cluster.apply(config_map("x"))

        self.host.fail(Operation.APPLY, cluster.Conflict("first"))
        self.host.fail(Operation.APPLY, cluster.Unavailable("second"))
        self.during_a_call(work)
        self.host.missing_namespace("a")
        with self.assertRaises(wharf.Retry):
            self.during_a_call(lambda: print(cluster.apply(config_map("x"))))


if __name__ == "__main__":
    unittest.main()
