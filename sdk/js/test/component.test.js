/**
 * What only a component needs, as far as it runs without one: places in the source, copies, console,
 * and values on their way to the host.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { Host } from "@wharf-dev/sdk/testing";

import { withLines } from "../build/lines.js";
import { text, texts, u32, unsigned, word } from "../src/backend/values.js";
import { start } from "../src/backend/state.js";
import { clone } from "../src/component/clone.js";
import { Console } from "../src/component/console.js";
import { explainWithStack } from "../src/component/stack.js";
import { configMap, inside } from "./plugins.js";

const FILE = "componentize-qjs:user.js";
const TABLE = Symbol.for("wharf.dev/lines");

/** Line 1 of the bundle has no source; 2 and 3 are lines 1 and 2 of a.js, 4 is line 11 of a package, 5 line 1 of this one. */
const MAP = JSON.stringify({
  sources: ["a.js", "node_modules/dep/index.js", fileURLToPath(new URL("../src/log.js", import.meta.url))],
  mappings: ";AAAA;AACA;ACSA;ACVA",
});

/** Has the table of the map while it works. */
function withTable(work) {
  const { source } = withLines("", MAP, "/plugin");
  // The line that the build appends, run as it will be run.
  new Function(source)();
  try {
    return work();
  } finally {
    delete globalThis[TABLE];
  }
}

function errorAt(...places) {
  const frames = places.map((place) => `    at f (${place})`);
  return Object.assign(new Error("boom"), { stack: frames.join("\n") });
}

test("stacks are in the plugin's own lines, without the frames of this package below", () => {
  const error = errorAt(`${FILE}:3:5`, `${FILE}:4:1`, `${FILE}:2:1`, `${FILE}:5:1`, "native", `${FILE}:1:1`);
  error.cause = new TypeError("deep");
  error.cause.stack = `    at g (${FILE}:2:9)`;
  const expected = [
    "boom",
    "    at f (a.js:2)",
    "    at f (dep/index.js:11)",
    "    at f (a.js:1)",
    "caused by: TypeError: deep",
    "    at g (a.js:1)",
  ];
  assert.deepEqual(
    withTable(() => explainWithStack(error))
      .split("\n")
      .filter((line) => !line.includes("(native)")),
    expected,
  );
  assert.equal(explainWithStack("text"), "text");
});

test("errors of the build are in the plugin's own lines", () => {
  const { locate } = withLines("", MAP, "/plugin");
  assert.equal(locate(`Error: x\n at f (${FILE}:3:1)\n at ${FILE}:9:1`), `Error: x\n at f (a.js:2)\n at ${FILE}:9:1`);
});

test("copies are deep and keep cycles", () => {
  const value = {
    list: [1, { a: "b" }],
    map: new Map([["k", new Set([1])]]),
    date: new Date(5),
    bytes: new Uint8Array([1]),
    error: new RangeError("r"),
  };
  value.self = value;
  const copy = clone(value);
  assert.deepEqual(copy.list, value.list);
  assert.ok(
    copy.list[1] !== value.list[1] && copy.self === copy && copy.map.get("k").has(1) && copy.bytes !== value.bytes,
  );
  assert.deepEqual([copy.date.getTime(), copy.error.name, copy.error.message], [5, "RangeError", "r"]);
  assert.throws(() => clone({ f() {} }), { name: "DataCloneError" });
});

test("console writes lines", async () => {
  const console = new Console();
  console.info("early %s", "bird");
  start();
  const host = new Host();
  await inside(host, configMap("x"), () => {
    Console.flush();
    console.log("a %s b %d %% %j", "x", "7", { y: 1 }, ["rest"], undefined);
    console.error(1);
    console.assert(false, "why");
    console.assert(true, "not");
    console.trace("t");
  });
  assert.deepEqual(
    host.logs.map(({ level, message }) => [level, message]),
    [
      ["info", "early bird"],
      ["info", 'a x b 7 % {"y":1} ["rest"] undefined'],
      ["error", "1"],
      ["error", "assertion failed why"],
      ["trace", "t"],
    ],
  );
});

test("values are made fit for the host, or refused", () => {
  assert.deepEqual([text(1), text("a\ud800"), texts(["a", 1])], ["1", "a\ufffd", ["a", "1"]]);
  assert.deepEqual([u32(5.9), u32(-1), u32(3_000_000_000), u32(1e20)], [5, 0, 3_000_000_000 | 0, -1]);
  assert.deepEqual([unsigned(-294_967_296), unsigned(7)], [4_000_000_000, 7]);
  assert.throws(() => u32("x"), TypeError);
  assert.throws(() => texts("ab"), TypeError);
  assert.throws(() => word("loud", ["warn"]), /loud is none of warn/);
});
