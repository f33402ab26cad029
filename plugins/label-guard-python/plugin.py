"""Reports ConfigMaps without a required label: a warning in the log, and a Kubernetes Event
that `kubectl describe` shows. Changes nothing.
"""

import wharf_sdk as wharf
from wharf_sdk import Change, EventType, cluster, log

#: In every namespace, made by the cluster itself.
ROOT_CA = "kube-root-ca.crt"


@wharf.plugin
class LabelGuard(wharf.Handler):
    """The configuration."""

    required_label: str = "owner"

    @classmethod
    def describe(cls) -> wharf.Description:
        config_maps = wharf.Subscription("main", "v1", "ConfigMap", events=[Change.ADD, Change.UPDATE])
        return wharf.Description("label-guard", "0.1.0", [config_maps], memory="64Mi")

    def validate(self) -> list[str]:
        return [] if self.required_label else ["requiredLabel: must not be empty"]

    def add(self, event: wharf.Event) -> None:
        if event.name == ROOT_CA or event.delivery.deleting or event.label(self.required_label) is not None:
            return
        log.warn("label missing", label=self.required_label)
        message = f'the label "{self.required_label}" is required'
        cluster.record_event(event.key, EventType.WARNING, "MissingLabel", message)
