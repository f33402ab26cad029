/**
 * Reading the event: raw, typed, now and before.
 */
import assert from "node:assert/strict";
import { test } from "node:test";

import { ReadError } from "@wharf-dev/sdk";
import { Host } from "@wharf-dev/sdk/testing";

import { configMap, inside, pluginOf } from "./plugins.js";

const OBJECT = configMap("x", { n: 3, f: 1.5, b: false, s: ["a"], none: null, "a/b~c": "odd" });

test("raw text and values", async () => {
  const read = (event) => [
    event.raw("/metadata/name"),
    event.get("/s"),
    event.get("/none"),
    event.raw("/nope"),
    event.get("/a~1b~0c"),
    event.raw("n"),
  ];
  assert.deepEqual(await inside(new Host(), OBJECT, read), ['"x"', ["a"], null, undefined, "odd", undefined]);
});

test("typed reads give the value, and undefined for absent and null", async () => {
  const read = (event) => [
    event.string("/metadata/name"),
    event.integer("/n"),
    event.number("/f"),
    event.boolean("/b"),
    event.strings("/s"),
  ];
  assert.deepEqual(await inside(new Host(), OBJECT, read), ["x", 3, 1.5, false, ["a"]]);
  const absent = (event) => [event.string("/nope"), event.integer("/none"), event.label("app")];
  assert.deepEqual(await inside(new Host(), OBJECT, absent), [undefined, undefined, undefined]);
});

test("another type is a read error that names the pointer, and ends in a permanent failure", async () => {
  for (const [read, message] of [
    [(event) => event.string("/n"), "/n cannot be read: it must be a string, and is a number"],
    [(event) => event.integer("/f"), "/f cannot be read: it must be a whole number in plain digits, and is 1.5"],
    [(event) => event.integer("/s"), "/s cannot be read: it must be a whole number in plain digits, and is a list"],
    [(event) => event.boolean("/s"), "/s cannot be read: it must be true or false, and is a list"],
    [(event) => event.strings("/metadata"), "/metadata cannot be read: it must be a list of strings, and is an object"],
  ]) {
    await inside(new Host(), OBJECT, (event) => assert.throws(() => read(event), ReadError));
    await assert.rejects(new Host().add(pluginOf(read), OBJECT), { permanent: true, reason: "ObjectInvalid", message });
  }
});

test("previous, changed and several at once", async () => {
  const before = configMap("x", { data: { a: "1", b: "2" } });
  const after = configMap("x", { data: { a: "1", b: "3" } });
  let seen;
  const plugin = pluginOf((event) => {
    seen = {
      each: event.changedEach(["/data/a", "/data/b"]),
      one: event.changed("/data/a"),
      any: event.changedAny(["/data/a", "/data/b"]),
      many: event.previous.getMany(["/data/b", "/data/c"]),
      whole: event.previous.object().data,
    };
  });
  await new Host().update(plugin, before, after);
  assert.deepEqual(seen, {
    each: [false, true],
    one: false,
    any: true,
    many: ["2", undefined],
    whole: { a: "1", b: "2" },
  });
});

test("without a previous state everything has changed, and outside of a call nothing is there", async () => {
  let kept;
  const read = (event) => {
    kept = event;
    return [event.changed("/metadata"), event.previous.json(), event.namespace, event.remainingMs() > 0];
  };
  assert.deepEqual(await inside(new Host(), OBJECT, read), [true, undefined, "a", true]);
  assert.deepEqual([kept.raw(""), kept.remainingMs()], [undefined, 0]);
});
