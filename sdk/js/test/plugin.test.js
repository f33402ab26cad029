/**
 * How a call ends, what a configuration must be, and what a description says.
 */
import assert from "node:assert/strict";
import { test } from "node:test";

import { ApiError, ConfigError, Failure, Outcome, definePlugin } from "@wharf-dev/sdk";
import { Host } from "@wharf-dev/sdk/testing";

import { failureOf } from "../src/errors.js";
import { configMap, pluginOf } from "./plugins.js";

test("nothing returned is done, also by an async handler", async () => {
  const object = configMap("x");
  assert.deepEqual(
    await new Host().add(
      pluginOf(() => {}),
      object,
    ),
    Outcome.done(),
  );
  assert.deepEqual(
    await new Host().add(
      pluginOf(async () => Outcome.requeueAfter(5)),
      object,
    ),
    Outcome.requeueAfter(5),
  );
  assert.deepEqual(
    await new Host().delete(
      pluginOf(() => assert.fail("add was called")),
      object,
    ),
    Outcome.done(),
  );
});

test("anything else that is returned or thrown is a retry", async () => {
  for (const [add, message] of [
    [() => true, /^TypeError: the handler returned true: return Outcome/],
    [
      () => {
        throw new Error("boom");
      },
      /^boom$/,
    ],
    [
      async () => {
        throw new RangeError("late");
      },
      /^RangeError: late$/,
    ],
    [
      () => {
        throw "text";
      },
      /^text$/,
    ],
    [
      () => {
        throw null;
      },
      /^null$/,
    ],
  ]) {
    await assert.rejects(new Host().add(pluginOf(add), configMap("x")), {
      permanent: false,
      reason: "HandlerError",
      message,
    });
  }
});

test("the failures of the plugin stay as they are", async () => {
  const retry = Failure.retry("Busy", "later", { afterMs: 300 });
  await assert.rejects(
    new Host().add(
      pluginOf(() => {
        throw retry;
      }),
      configMap("x"),
    ),
    retry,
  );
  assert.deepEqual([retry.retryAfterMs, Failure.retry("A", "b").after(1.4).retryAfterMs], [300, 1]);
  assert.throws(() => Outcome.requeueAfter(Number.NaN), TypeError);
  assert.throws(() => Failure.retry("A", "b").after(-1), TypeError);
});

test("errors of the cluster keep what they know", () => {
  const reasons = [
    ["not-granted", "GrantMissing"],
    ["forbidden", "Forbidden"],
    ["conflict", "Conflict"],
    ["unavailable", "ServerUnavailable"],
  ];
  for (const [code, reason] of [...reasons, ["not-found", "ApiError"], ["too-large", "ApiError"]]) {
    assert.deepEqual([failureOf(new ApiError(code)).reason, failureOf(new ApiError(code)).permanent], [reason, false]);
  }
  const throttled = failureOf(new ApiError("throttled", undefined, 250));
  assert.deepEqual(
    [throttled.reason, throttled.retryAfterMs, throttled.message],
    ["ServerUnavailable", 250, "throttled: try again after 250 ms"],
  );
});

test("the configuration is read once, typed, and refused with all that is wrong", async () => {
  const plugin = pluginOf(
    (event, config) => {
      event.key;
      assert.deepEqual(config, { name: "n", count: 1, on: true, inner: { tags: ["a"] }, list: [{ x: 0.5 }] });
    },
    {
      config: (fields) => ({
        name: fields.string("name"),
        count: fields.integer("count", 1),
        on: fields.boolean("on", true),
        inner: fields.object("inner", (inner) => ({ tags: inner.strings("tags", ["a"]) })),
        list: fields.objects("list", (item) => ({ x: item.number("x") })),
      }),
      validate: ({ name }) => (name === "bad" ? ["name: bad"] : undefined),
    },
  );
  await new Host({ config: { name: "n", list: [{ x: 0.5 }] } }).add(plugin, configMap("x"));
  const config = { count: 1.5, inner: { tags: "a", taggs: 1 }, list: [{}, { x: 1, y: 2 }], other: 1 };
  const problems = [
    "name: it is missing, and must be a string",
    "count: it must be a whole number, and is a number",
    "inner.tags: it must be a list of strings, and is a string",
    "inner.taggs: unknown field; known are tags",
    "list[0].x: it is missing, and must be a number",
    "list[1].y: unknown field; known are x",
    "other: unknown field; known are count, inner, list, name, on",
  ];
  assert.deepEqual(await new Host({ config }).validate(plugin), problems);
  await assert.rejects(new Host({ config }).add(plugin, configMap("x")), {
    permanent: true,
    reason: "ConfigInvalid",
    message: problems.join("; "),
  });
  assert.deepEqual(await new Host({ config: { name: "bad" } }).validate(plugin), ["name: bad"]);
});

test("an error in validate is a refusal", async () => {
  const refusing = (validate) => new Host().validate(pluginOf(() => {}, { validate }));
  assert.deepEqual(
    await refusing(() => {
      throw new Error("thrown");
    }),
    ["thrown"],
  );
  assert.deepEqual(
    await refusing(async () => {
      throw new ConfigError(["a", "b"]);
    }),
    ["a", "b"],
  );
  const none = definePlugin({ describe: { name: "a", version: "1", subscribe: [] }, add() {} });
  assert.deepEqual(await new Host({ config: { a: 1 } }).validate(none), ["a: unknown field; there are none"]);
});

test("the description lists the reasons of this package behind the plugin's own, 16 at most", async () => {
  const own = Array.from({ length: 12 }, (_, index) => `Reason${index}`);
  const plugin = pluginOf(() => {}, {
    describe: () => ({ name: "a", version: "1", subscribe: [], reasons: ["Conflict", ...own] }),
  });
  const { reasons } = await new Host().describe(plugin);
  assert.deepEqual([reasons.length, reasons[0], reasons[1], reasons[13]], [16, "Conflict", "Reason0", "ConfigInvalid"]);
});

test("what is no plugin is refused at once", () => {
  const describe = { name: "a", version: "1", subscribe: [] };
  assert.throws(() => definePlugin({ describe }), /the function add is missing/);
  assert.throws(() => definePlugin({ add() {} }), /describe is missing/);
  assert.throws(() => definePlugin({ describe, add() {}, update: 1 }), /update must be a function, and is number/);
});
