/**
 * The plugin against the mock of the host.
 */
import assert from "node:assert/strict";
import { test } from "node:test";

import { ApiError } from "@wharf-dev/sdk";
import { Host } from "@wharf-dev/sdk/testing";

import plugin from "../plugin.js";

const QUOTA = {
  apiVersion: "v1",
  kind: "ResourceQuota",
  metadata: { name: "default" },
  spec: { hard: { pods: "10" } },
};
const BINDING = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "RoleBinding",
  metadata: { name: "team" },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "edit" },
  subjects: [{ kind: "Group", name: "team-${namespace}" }],
};

const config = (more = {}) => ({ config: { objects: [QUOTA, BINDING], ...more } });
const namespace = (name, more = {}) => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name, uid: "u1", ...more },
});

test("a new namespace gets the objects, filled in", async () => {
  const host = new Host(config());
  await host.add(plugin, namespace("shop"));
  const quota = host.get({ apiVersion: "v1", kind: "ResourceQuota", namespace: "shop", name: "default" });
  assert.deepEqual(quota.spec, QUOTA.spec);
  const binding = host.get({ apiVersion: BINDING.apiVersion, kind: "RoleBinding", namespace: "shop", name: "team" });
  assert.deepEqual(binding.subjects, [{ kind: "Group", name: "team-shop" }]);
  assert.deepEqual(
    host.events.map(({ about, reason, message }) => [about.name, reason, message]),
    [["shop", "Bootstrapped", "2 objects applied"]],
  );
});

test("the cluster's own, excluded and leaving ones are left alone", async () => {
  const host = new Host(config());
  await host.add(plugin, namespace("kube-system"));
  await host.add(plugin, namespace("shop", { deletionTimestamp: "2026-01-01T00:00:00Z" }));
  assert.deepEqual(host.writes, []);
  const own = new Host(config({ exclude: ["shop"] }));
  await own.add(plugin, namespace("shop"));
  await own.add(plugin, namespace("kube-system"));
  assert.deepEqual(
    own.writes.map(({ target }) => target.namespace),
    ["kube-system", "kube-system"],
  );
});

test("a change of the namespace is nothing, a new configuration is", async () => {
  const host = new Host(config({ force: true }));
  const [before, after] = [namespace("shop"), namespace("shop", { labels: { a: "b" } })];
  await host.update(plugin, before, after);
  assert.deepEqual(host.writes, []);
  await host.call(plugin, { change: "update", previous: after, object: after, cause: "reload" });
  assert.deepEqual(
    host.writes.map(({ operation, force }) => [operation, force]),
    [
      ["apply", true],
      ["apply", true],
    ],
  );
});

test("one that fails does not hold up the others, and is tried again", async () => {
  const host = new Host(config()).fail("apply", new ApiError("conflict", "owned by kubectl"));
  const message = "ResourceQuota default: conflict: owned by kubectl";
  await assert.rejects(host.add(plugin, namespace("shop")), { reason: "ApplyFailed", permanent: false, message });
  assert.deepEqual(
    host.writes.map(({ target }) => target.kind),
    ["RoleBinding"],
  );
  assert.deepEqual(
    host.events.map(({ type, reason }) => [type, reason]),
    [["Warning", "ApplyFailed"]],
  );
});

test("what is invalid is not tried again", async () => {
  const host = new Host(config()).fail("apply", new ApiError("invalid", "no such field"));
  await assert.rejects(host.add(plugin, namespace("shop")), { reason: "ApplyFailed", permanent: true });
});

test("a wrong configuration is refused, with all that is wrong", async () => {
  const objects = [{ kind: "ResourceQuota", metadata: { namespace: "a" } }];
  assert.deepEqual(await new Host({ config: { objects } }).validate(plugin), [
    "objects[0].apiVersion: must be a string",
    "objects[0].metadata.name: must be a string",
    "objects[0].metadata.namespace: must be left out; it is the new namespace",
  ]);
  assert.deepEqual(await new Host({ config: { objects: [1], exclud: [] } }).validate(plugin), [
    "objects: it must be a list of objects, and is a list",
    "exclud: unknown field; known are exclude, force, objects",
  ]);
  assert.deepEqual(await new Host(config()).validate(plugin), []);
});
