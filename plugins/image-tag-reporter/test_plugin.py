"""What is reported, and what is left alone."""

import unittest
from typing import Any

from wharf_sdk import Cause, Change, Permanent
from wharf_sdk.testing import Call, Host

from images import Image, parse
from plugin import ImageTagReporter


def pod(*images: str, **metadata: Any) -> dict[str, Any]:
    containers = [{"name": f"c{number}", "image": image} for number, image in enumerate(images)]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": "shop", "name": "web", "uid": "u1", **metadata},
        "spec": {"containers": containers},
    }


def deployment(image: str) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": "shop", "name": "web", "uid": "u2"},
        "spec": {"template": {"spec": {"initContainers": [{"name": "init", "image": image}]}}},
    }


class ImagesTest(unittest.TestCase):
    def test_parts(self) -> None:
        for text, repository, tag, digest in (
            ("nginx", "nginx", "latest", ""),
            ("nginx:1.27", "nginx", "1.27", ""),
            ("r.example.com:5000/a/nginx", "r.example.com:5000/a/nginx", "latest", ""),
            ("r.example.com:5000/nginx:1@sha256:ab", "r.example.com:5000/nginx", "1", "sha256:ab"),
            ("nginx@sha256:ab", "nginx", "", "sha256:ab"),
        ):
            with self.subTest(text):
                self.assertEqual(parse(text), Image(repository, tag, digest))


class ImageTagReporterTest(unittest.TestCase):
    def test_containers_without_a_fixed_tag_are_reported_together(self) -> None:
        host = Host()
        host.add(ImageTagReporter, pod("nginx", "redis:7", "busybox:latest"))
        self.assertEqual([line.fields["image"] for line in host.logs], ["nginx", "busybox:latest"])
        [event] = host.events
        self.assertEqual(event.reason, "ImageTagRefused")
        self.assertEqual(event.message, "images break the tag policy: c0: nginx, c2: busybox:latest")
        self.assertEqual(str(event.about), "shop/web")

    def test_deployments_are_looked_through_as_well(self) -> None:
        host = Host()
        host.add(ImageTagReporter, deployment("nginx"))
        self.assertEqual([event.message for event in host.events], ["images break the tag policy: init: nginx"])

    def test_policies_are_regular_expressions_for_some_images(self) -> None:
        policies = [{"images": r"r\.example\.com/.*", "tags": r"v\d+\.\d+\.\d+"}]
        host = Host({"policies": policies, "allowDigests": False})
        host.add(
            ImageTagReporter, pod("nginx", "r.example.com/a:v1.2.3", "r.example.com/a:v1", "r.example.com/b@sha256:1")
        )
        self.assertEqual([line.fields["container"] for line in host.logs], ["c2", "c3"])

    def test_a_digest_is_as_good_as_a_tag(self) -> None:
        host = Host()
        host.add(ImageTagReporter, pod("nginx@sha256:ab", "nginx:latest@sha256:ab"))
        self.assertEqual(host.events, [])

    def test_pods_of_deployments_and_leaving_ones_are_left_alone(self) -> None:
        host = Host()
        host.add(ImageTagReporter, pod("nginx", ownerReferences=[{"kind": "ReplicaSet", "name": "web-1"}]))
        host.add(ImageTagReporter, pod("nginx", deletionTimestamp="2026-01-01T00:00:00Z"))
        self.assertEqual((host.logs, host.events), ([], []))

    def test_what_did_not_change_is_reported_once_per_policy(self) -> None:
        host, before, after = Host(), pod("nginx"), pod("nginx", labels={"a": "b"})
        host.update(ImageTagReporter, before, after)
        self.assertEqual(host.events, [])
        host.call(ImageTagReporter, Call(change=Change.UPDATE, current=after, previous=after, cause=Cause.RELOAD))
        self.assertEqual(len(host.events), 1)

    def test_an_object_of_another_form_is_given_up(self) -> None:
        with self.assertRaisesRegex(Permanent, "/spec/containers/0/name cannot be read: missing"):
            Host().add(ImageTagReporter, pod() | {"spec": {"containers": [{"image": "x"}]}})

    def test_wrong_configuration_is_named(self) -> None:
        for config, problem in (
            ({"policies": [{"tags": "("}]}, "policies[0].tags: is no regular expression: missing ), "),
            ({"policies": [{"images": ".*"}]}, "policies[0].tags: missing"),
            ({"policy": []}, "policy: unknown field"),
        ):
            with self.subTest(config=config):
                [said] = Host(config).validate(ImageTagReporter)
                self.assertTrue(said.startswith(problem), said)
        self.assertEqual(Host().validate(ImageTagReporter), [])


if __name__ == "__main__":
    unittest.main()
