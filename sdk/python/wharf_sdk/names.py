"""Names of kinds and of objects."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Gvk", "ObjectRef"]


class Gvk(NamedTuple):
    """A kind: `Gvk("v1", "ConfigMap")`, `Gvk("apps/v1", "Deployment")`."""

    api_version: str
    kind: str

    @property
    def group(self) -> str:
        """Empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        """The version within the group."""
        return self.api_version.rpartition("/")[2]

    def __str__(self) -> str:
        return f"{self.api_version} {self.kind}"


class ObjectRef(NamedTuple):
    """One object, by name."""

    kind: Gvk
    name: str
    #: None for cluster-scoped kinds. For a namespaced kind it means the plugin's own.
    namespace: str | None = None
    #: Tells it from earlier and later objects of the same name; empty when not known.
    uid: str = ""

    def __str__(self) -> str:
        return self.name if self.namespace is None else f"{self.namespace}/{self.name}"
