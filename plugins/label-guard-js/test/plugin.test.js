/**
 * The plugin against the mock of the host.
 */
import assert from "node:assert/strict";
import { test } from "node:test";

import { Outcome } from "@wharf-dev/sdk";
import { Host } from "@wharf-dev/sdk/testing";

import plugin from "../plugin.js";

const configMap = (name, labels) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { namespace: "team-a", name, uid: "u1", labels },
});

test("a missing label is reported in log and Event", async () => {
  const host = new Host();
  assert.deepEqual(await host.add(plugin, configMap("settings", { app: "x" })), Outcome.done());
  assert.deepEqual(host.logs, [{ level: "warn", message: "label missing", fields: { label: "owner" } }]);
  const about = { apiVersion: "v1", kind: "ConfigMap", namespace: "team-a", name: "settings", uid: "u1" };
  assert.deepEqual(host.events, [
    { about, type: "Warning", reason: "MissingLabel", message: 'the label "owner" is required' },
  ]);
});

test("labelled ones and the cluster's own are left alone", async () => {
  const host = new Host();
  await host.add(plugin, configMap("settings", { owner: "me" }));
  await host.add(plugin, configMap("kube-root-ca.crt", {}));
  const leaving = configMap("leaving", {});
  leaving.metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
  await host.update(plugin, leaving, leaving);
  assert.deepEqual([host.logs, host.events], [[], []]);
});

test("the label is configurable and may have a prefix", async () => {
  const host = new Host({ config: { requiredLabel: "example.com/team" } });
  const without = configMap("settings", { owner: "me" });
  await host.add(plugin, without);
  await host.update(plugin, without, configMap("settings", { "example.com/team": "a" }));
  assert.equal(host.events.length, 1);
});

test("a wrong configuration is refused", async () => {
  for (const [config, problem] of [
    [{ requiredLabel: "" }, "requiredLabel: must not be empty"],
    [{ requiredLabels: "owner" }, "requiredLabels: unknown field; known are requiredLabel"],
    [{ requiredLabel: 1 }, "requiredLabel: it must be a string, and is a number"],
  ]) {
    assert.deepEqual(await new Host({ config }).validate(plugin), [problem]);
  }
  assert.deepEqual(await new Host().validate(plugin), []);
});
