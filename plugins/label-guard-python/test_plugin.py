"""The same cases as for label-guard in the other languages."""

import unittest
from typing import Any

from wharf_sdk import EventType
from wharf_sdk.log import Level
from wharf_sdk.testing import Host

from plugin import ROOT_CA, LabelGuard


def config_map(name: str, labels: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": "team-a", "name": name, "uid": "u1", "labels": labels},
    }


class LabelGuardTest(unittest.TestCase):
    def test_missing_label_is_reported_in_log_and_event(self) -> None:
        host = Host()
        host.add(LabelGuard, config_map("settings", {"app": "x"}))
        [line] = host.logs
        self.assertEqual((line.level, line.message, line.fields), (Level.WARN, "label missing", {"label": "owner"}))
        [event] = host.events
        self.assertEqual(
            (event.event_type, event.reason, event.message),
            (EventType.WARNING, "MissingLabel", 'the label "owner" is required'),
        )
        self.assertEqual((str(event.about), event.about.uid), ("team-a/settings", "u1"))

    def test_labelled_and_the_clusters_own_are_left_alone(self) -> None:
        host = Host()
        host.add(LabelGuard, config_map("settings", {"owner": "me"}))
        host.add(LabelGuard, config_map(ROOT_CA, {}))
        leaving = config_map("leaving", {})
        leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        host.update(LabelGuard, leaving, leaving)
        self.assertEqual((host.logs, host.events), ([], []))

    def test_label_is_configurable_and_may_have_a_prefix(self) -> None:
        host = Host({"requiredLabel": "example.com/team"})
        without = config_map("settings", {"owner": "me"})
        host.add(LabelGuard, without)
        host.update(LabelGuard, without, config_map("settings", {"example.com/team": "a"}))
        self.assertEqual(len(host.events), 1)

    def test_wrong_configuration_is_refused(self) -> None:
        for config in ({"requiredLabel": ""}, {"requiredLabels": "owner"}, {"requiredLabel": 1}):
            with self.subTest(config=config):
                self.assertEqual(len(Host(config).validate(LabelGuard)), 1)
        self.assertEqual(Host().validate(LabelGuard), [])

    def test_it_asks_for_what_it_needs(self) -> None:
        described = Host().describe(LabelGuard)
        self.assertEqual(described["name"], "label-guard")
        self.assertEqual(
            described["subscribe"],
            [{"name": "main", "apiVersion": "v1", "kind": "ConfigMap", "events": ["add", "update"]}],
        )


if __name__ == "__main__":
    unittest.main()
