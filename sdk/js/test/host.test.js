/**
 * Log, configuration, time and randomness, and that calls at the same time do not mix.
 */
import assert from "node:assert/strict";
import { test } from "node:test";

import { config, log, system } from "@wharf-dev/sdk";
import { Host } from "@wharf-dev/sdk/testing";

import { configMap, inside, pluginOf } from "./plugins.js";

test("fields of a log line are text", async () => {
  const host = new Host({ logLevel: "info" });
  await inside(host, configMap("x"), () => {
    log.debug("not kept");
    log.warn("kept", { text: "a", number: 1, list: [1], error: new TypeError("t"), nothing: undefined, big: 10n });
    log.emit("error", "pairs", [["a", "1"]]);
  });
  assert.deepEqual(host.logs, [
    {
      level: "warn",
      message: "kept",
      fields: { text: "a", number: "1", list: "[1]", error: "TypeError: t", nothing: "undefined", big: "10" },
    },
    { level: "error", message: "pairs", fields: { a: "1" } },
  ]);
});

test("configuration, time and randomness", async () => {
  const host = new Host({ config: { a: { b: 1 } }, now: 5000 });
  const seen = await inside(host, configMap("x"), () => [
    config.json(),
    config.get("/a/b"),
    config.raw("/c"),
    system.now(),
    system.random(3).length,
  ]);
  assert.deepEqual(seen, ['{"a":{"b":1}}', 1, undefined, 5001, 3]);
});

test("calls of two hosts at the same time do not mix", async () => {
  const plugin = pluginOf(async (event) => {
    await new Promise((resolve) => setImmediate(resolve));
    log.info(event.string("/metadata/name"));
  });
  const hosts = [new Host(), new Host()];
  await Promise.all([hosts[0].add(plugin, configMap("one")), hosts[1].add(plugin, configMap("two"))]);
  assert.deepEqual(
    hosts.map((host) => host.logs.map((line) => line.message)),
    [["one"], ["two"]],
  );
});

test("a call has everything that a host can say", async () => {
  let seen;
  const plugin = pluginOf(() => {}, {
    delete: (event) => {
      seen = [event.delivery.removal, event.delivery.attempt, event.current.json(), event.delivery.finalStateUnknown];
    },
  });
  const host = new Host().object(configMap("x"));
  await host.call(plugin, {
    change: "delete",
    object: configMap("x"),
    absent: true,
    attempt: 3,
    removal: "unmatched",
    finalStateUnknown: true,
  });
  assert.deepEqual(seen, ["unmatched", 3, undefined, true]);
  assert.ok(
    host.get({ apiVersion: "v1", kind: "ConfigMap", namespace: "a", name: "x" }) !== undefined,
    "it only no longer matches",
  );
});
