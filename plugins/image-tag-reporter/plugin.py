"""Reports Pods and Deployments whose images break a tag policy: a warning in the log for each
container, and a Kubernetes Event that `kubectl describe` shows. Changes nothing.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import wharf_sdk as wharf
from wharf_sdk import Cause, Change, EventType, cluster, log

from images import Image, parse

#: Where the containers stand, from the Pod's spec.
CONTAINERS = ("containers", "initContainers", "ephemeralContainers")


@dataclass(frozen=True)
class Container:
    """What matters of a container."""

    name: str
    image: str = ""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Which tags some images may have. Both are regular expressions for the whole text."""

    #: The repositories that the policy is for.
    images: str = ".*"
    #: The tags that they may have.
    tags: str


@wharf.plugin
class ImageTagReporter(wharf.Handler):
    """The configuration."""

    policies: Sequence[Policy] = (Policy(tags="(?!latest$).+"),)
    #: Is an image with a digest good, whatever its tag?
    allow_digests: bool = True

    @classmethod
    def describe(cls) -> wharf.Description:
        events = [Change.ADD, Change.UPDATE]
        return wharf.Description(
            "image-tag-reporter",
            "0.1.0",
            [
                wharf.Subscription("pods", "v1", "Pod", events=events),
                wharf.Subscription("deployments", "apps/v1", "Deployment", events=events),
            ],
            memory="64Mi",
        )

    def validate(self) -> Iterator[str]:
        for index, policy in enumerate(self.policies):
            for field in ("images", "tags"):
                try:
                    re.compile(getattr(policy, field))
                except re.error as error:
                    yield f"policies[{index}].{field}: is no regular expression: {error}"

    def add(self, event: wharf.Event) -> None:
        if event.delivery.deleting or self._is_reported_elsewhere(event):
            return
        pointers = _pointers(event)
        # A change of another part. Other causes may come with another policy.
        if event.delivery.cause is Cause.WATCH and not event.changed(*pointers):
            return
        broken = [
            f"{container.name}: {container.image}"
            for containers in event.get_many(pointers, list[Container])
            for container in containers or []
            if not self._is_good(parse(container.image))
        ]
        if not broken:
            return
        for text in broken:
            container, _, image = text.partition(": ")
            log.warn("image breaks the tag policy", container=container, image=image)
        message = "images break the tag policy: " + ", ".join(broken)
        cluster.record_event(event.key, EventType.WARNING, "ImageTagRefused", message)

    @cached_property
    def _compiled(self) -> list[tuple[re.Pattern[str], re.Pattern[str]]]:
        return [(re.compile(policy.images), re.compile(policy.tags)) for policy in self.policies]

    def _is_good(self, image: Image) -> bool:
        if image.digest and self.allow_digests:
            return True
        return all(tags.fullmatch(image.tag) for images, tags in self._compiled if images.fullmatch(image.repository))

    @staticmethod
    def _is_reported_elsewhere(event: wharf.Event) -> bool:
        """A Pod of a ReplicaSet has the images of its Deployment."""
        return event.key.kind.kind == "Pod" and event.get("/metadata/ownerReferences/0/kind", str) == "ReplicaSet"


def _pointers(event: wharf.Event) -> list[str]:
    spec = "/spec" if event.key.kind.kind == "Pod" else "/spec/template/spec"
    return [f"{spec}/{name}" for name in CONTAINERS]
