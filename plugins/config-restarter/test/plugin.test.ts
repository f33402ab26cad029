/**
 * The plugin against the mock of the host.
 */
import assert from "node:assert/strict";
import { test } from "node:test";

import { ApiError, type KubeObject } from "@wharf-dev/sdk";
import { Host } from "@wharf-dev/sdk/testing";

import { digest } from "../digest.ts";
import { noteName } from "../notes.ts";
import plugin from "../plugin.ts";

const NOTE = "config-restarter.wharf.dev/settings";

function configMap(color: string, labels: Record<string, string> = {}): KubeObject {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace: "shop", name: "settings", labels },
    data: { color },
  };
}

function deployment(name: string, on: string, namespace = "shop"): KubeObject {
  const metadata = { namespace, name, annotations: { "wharf.dev/restart-on": on } };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata,
    spec: { template: { metadata: { labels: { app: name } } } },
  };
}

/** The notes at a Deployment and at its pods. */
function notes(host: Host, name: string): [unknown, unknown] {
  const object = host.get({ apiVersion: "apps/v1", kind: "Deployment", namespace: "shop", name });
  const spec = object?.["spec"] as { template: { metadata: { annotations?: Record<string, string> } } };
  return [object?.metadata.annotations?.[NOTE], spec.template.metadata.annotations?.[NOTE]];
}

test("the first sight is noted and restarts nothing", async () => {
  const host = new Host().object(deployment("web", "settings"));
  await host.add(plugin, configMap("red"));
  const [noted, started] = notes(host, "web");
  assert.match(String(noted), /^[0-9a-f]{14}$/);
  assert.equal(started, undefined);
  assert.deepEqual(host.events, []);
});

test("a change restarts those that name the ConfigMap, once", async () => {
  const host = new Host();
  host
    .object(deployment("web", "features, settings"))
    .object(deployment("api", "settings"))
    .object(deployment("job", "other"));
  await host.update(plugin, configMap("red"), configMap("blue"));
  await host.update(plugin, configMap("red"), configMap("blue"));
  assert.deepEqual(host.writes.map(({ target }) => target.name).sort(), ["api", "web"]);
  assert.deepEqual(
    host.events.map(({ about, reason, message }) => [about.name, reason, message]),
    [
      ["api", "Restarted", "the ConfigMap settings changed"],
      ["web", "Restarted", "the ConfigMap settings changed"],
    ],
  );
  const [noted, started] = notes(host, "web");
  assert.ok(noted !== undefined && noted === started);
});

test("a change that no host saw is found by the note", async () => {
  const host = new Host().object(deployment("web", "settings"));
  await host.add(plugin, configMap("red"));
  await host.call(plugin, { change: "add", object: configMap("blue"), cause: "initial-list" });
  assert.equal(host.events.length, 1);
});

test("labels are no content, and other namespaces are left alone", async () => {
  const host = new Host().object(deployment("web", "settings")).object(deployment("web", "settings", "elsewhere"));
  await host.add(plugin, configMap("red"));
  host.clear();
  await host.update(plugin, configMap("red"), configMap("red", { team: "a" }));
  assert.deepEqual(host.writes, []);
});

test("one that cannot be written does not hold up the others, and is tried again", async () => {
  const host = new Host().object(deployment("api", "settings")).object(deployment("web", "settings"));
  host.fail("mergePatch", new ApiError("forbidden", "no rights"));
  const message = "api: forbidden: no rights";
  await assert.rejects(host.update(plugin, configMap("red"), configMap("blue")), {
    reason: "RestartFailed",
    permanent: false,
    message,
  });
  assert.deepEqual(
    host.writes.map(({ target }) => target.name),
    ["web"],
  );
});

test("one that is gone meanwhile is none", async () => {
  const host = new Host().object(deployment("web", "settings")).fail("mergePatch", new ApiError("not-found"));
  await host.update(plugin, configMap("red"), configMap("blue"));
  assert.deepEqual(host.writes, []);
});

test("notes have names that Kubernetes takes", () => {
  const long = "a".repeat(200);
  assert.equal(noteName("settings"), NOTE);
  assert.equal(noteName(long).split("/")[1]?.length, 63);
  assert.notEqual(noteName(long), noteName(`${long}b`));
  assert.notEqual(digest("red"), digest("reD"));
});

test("a wrong configuration is refused", async () => {
  assert.deepEqual(await new Host({ config: { annotation: "" } }).validate(plugin), ["annotation: must not be empty"]);
  assert.deepEqual(await new Host().validate(plugin), []);
});
