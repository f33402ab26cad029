/**
 * The cluster's functions on the mock, which answers as the API server does.
 */
import assert from "node:assert/strict";
import { test } from "node:test";

import { ApiError, cluster } from "@wharf-dev/sdk";
import { Host } from "@wharf-dev/sdk/testing";

import { matches } from "../src/testing/selector.js";
import { configMap, inside } from "./plugins.js";

const KIND = { apiVersion: "v1", kind: "ConfigMap" };
const target = (name) => ({ ...KIND, namespace: "a", name });
const code = (wanted) => (error) => error instanceof ApiError && error.code === wanted;

test("get, create, patch and delete", async () => {
  const host = new Host();
  await inside(host, configMap("x", { data: { a: "1", b: "2" } }), (event) => {
    assert.deepEqual(cluster.get(event.key, { fields: ["/data/a"] }), { data: { a: "1" } });
    assert.throws(() => cluster.get(target("y")), code("not-found"));
    assert.equal(cluster.create(JSON.stringify(configMap("y"))).object, undefined);
    assert.throws(() => cluster.create(configMap("y")), code("already-exists"));
    assert.throws(() => cluster.create({}), code("invalid"));
    assert.deepEqual(cluster.mergePatch(event.key, { data: { a: null } }, { fields: ["/data"] }).object, {
      data: { b: "2" },
    });
    assert.throws(() => cluster.mergePatch(event.key, {}, { ifResourceVersion: "0" }), code("conflict"));
    assert.throws(() => cluster.delete({ ...target("y"), uid: "other" }), code("conflict"));
    cluster.delete(target("y"), { dryRun: true });
    cluster.delete(target("y"));
    assert.throws(() => cluster.delete(target("y")), code("not-found"));
  });
  assert.deepEqual(
    host.writes.map(({ operation, dryRun }) => [operation, dryRun]),
    [
      ["create", false],
      ["mergePatch", false],
      ["delete", true],
      ["delete", false],
    ],
  );
});

test("apply removes what was applied before and is left out now", async () => {
  const host = new Host().object(configMap("y", { data: { theirs: "1" } }));
  await inside(host, configMap("x"), () => {
    cluster.apply(configMap("y", { data: { a: "1", b: "2" } }));
    cluster.apply(configMap("y", { data: { b: "3" } }), { force: true });
  });
  assert.deepEqual(host.get(target("y")).data, { theirs: "1", b: "3" });
  assert.equal(host.writes[1].force, true);
});

test("lists are cut, paged and selected", async () => {
  const host = new Host();
  for (const name of ["c", "a", "b"])
    host.object(configMap(name, { metadata: { namespace: "a", name, labels: { [name]: "1" } } }));
  await inside(host, configMap("d"), () => {
    const page = cluster.list(KIND, { limit: 3, fields: ["/metadata/name"] });
    assert.deepEqual(page.items, [
      { metadata: { name: "a" } },
      { metadata: { name: "b" } },
      { metadata: { name: "c" } },
    ]);
    assert.deepEqual(cluster.list(KIND, { continueToken: page.continueToken }).continueToken, undefined);
    assert.equal(cluster.listAll(KIND, { limit: 1 }).length, 4);
    assert.equal(cluster.listAll(KIND, { labelSelector: "a" }).length, 1);
    assert.equal(cluster.listAll(KIND, { fieldSelector: "metadata.name=b" }).length, 1);
    assert.equal(cluster.listAll(KIND, { namespace: "other" }).length, 0);
  });
});

test("any use can be made to fail, once", async () => {
  const host = new Host().fail("get", new ApiError("throttled", undefined, 5)).missingNamespace("gone");
  await inside(host, configMap("x"), (event) => {
    assert.throws(() => cluster.get(event.key), code("throttled"));
    assert.equal(cluster.get(event.key).kind, "ConfigMap");
    assert.throws(() => cluster.create({ ...KIND, metadata: { namespace: "gone", name: "x" } }), code("not-found"));
    assert.throws(() => cluster.recordEvent(event.key, "warning", "A", "b"), TypeError);
    assert.throws(() => cluster.get({ name: "x" }), TypeError);
  });
  assert.throws(() => cluster.get(target("x")), code("unavailable"));
});

test("selectors", () => {
  for (const [selector, value, wanted] of [
    ["", undefined, true],
    ["a", "x", true],
    ["a", undefined, false],
    ["!a", undefined, true],
    ["a=x", "x", true],
    ["a==x", "y", false],
    ["a!=x", undefined, true],
    ["a in (x, y)", "y", true],
    ["a notin (x, y)", "y", false],
    ["a in (x, y), a!=y", "y", false],
  ]) {
    assert.equal(
      matches(selector, () => value),
      wanted,
      selector,
    );
  }
  for (const selector of ["=x", "a b"]) assert.throws(() => matches(selector, () => undefined), code("invalid"));
});
