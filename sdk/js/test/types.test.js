/**
 * The types say the same names as the code. What they say of them is checked where plugins in
 * TypeScript are built.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import * as sdk from "@wharf-dev/sdk";
import * as testing from "@wharf-dev/sdk/testing";

const MODULES = { index: sdk, testing, cluster: sdk.cluster, config: sdk.config, log: sdk.log, system: sdk.system };

/** The names of values that a declaration file exports. */
function declared(name) {
  const text = readFileSync(new URL(`../types/${name}.d.ts`, import.meta.url), "utf8");
  const plain = [...text.matchAll(/^export (?:declare )?(?:function|class|const) (\w+)/gm)].map((match) => match[1]);
  const spaces = [...text.matchAll(/^export \* as (\w+)/gm)].map((match) => match[1]);
  const renamed = [...text.matchAll(/^export \{ \w+ as (\w+) \}/gm)].map((match) => match[1]);
  return [...plain, ...spaces, ...renamed].sort();
}

for (const [name, module] of Object.entries(MODULES)) {
  test(`${name}.d.ts`, () => {
    assert.deepEqual(declared(name), Object.keys(module).sort());
  });
}
