/**
 * Makes a component of a plugin: bundles its modules, checks its types, and has QuickJS run the
 * bundle once, whose state becomes the component. `wharf build` runs it with the folder of its tools:
 *
 *     node main.js --plugin DIR --entry FILE --wit DIR --world NAME --tools DIR --output FILE [--cluster] [--keep DIR]
 *
 * The answer is one JSON object on standard output; what is wrong goes to standard error for people,
 * and the exit code is 1. Never downloads anything.
 */
import { mkdir, rename, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { parseArgs } from "node:util";

import { bundle } from "./bundle.js";
import { BuildError } from "./error.js";
import { withLines } from "./lines.js";
import { checkTypes } from "./types.js";

const OPTIONS = {
  plugin: { type: "string" },
  entry: { type: "string" },
  wit: { type: "string" },
  world: { type: "string" },
  tools: { type: "string" },
  output: { type: "string" },
  keep: { type: "string" },
  cluster: { type: "boolean", default: false },
};

try {
  const { values } = parseArgs({ options: OPTIONS });
  process.stdout.write(`${JSON.stringify(await build(values))}\n`);
} catch (error) {
  process.stderr.write(`${error instanceof BuildError ? error.message : error.stack}\n`);
  process.exitCode = 1;
}

async function build({ plugin, entry, wit, world, tools, output, keep, cluster }) {
  const tool = toolsIn(path.resolve(tools));
  const folder = path.resolve(plugin);
  const types = checkTypes(folder, entry);
  // Awaited below; without this an early failure of the bundler would end in an unhandled rejection.
  types.catch(() => {});
  const { code, map, warnings } = await bundle(tool("esbuild"), folder, entry, cluster);
  const { source, locate } = withLines(code, map, folder);
  if (keep !== undefined) await keepBundle(keep, source, map);
  const component = await encode(tool("componentize-qjs"), { witPath: wit, world, source, locate });
  const checked = await types;
  await replace(output, component);
  return { warnings, types: checked, bundleBytes: Buffer.byteLength(source), bytes: component.length };
}

/** The tools are packages of this folder, and of no other. */
function toolsIn(folder) {
  const require = createRequire(path.join(folder, "package.json"));
  return (name) => {
    try {
      return require(path.join(folder, "node_modules", name));
    } catch (error) {
      const problem = error.message.split("\n")[0];
      throw new BuildError(
        `the tool ${name} cannot be loaded: ${problem}; remove ${folder}, so that it is installed again`,
      );
    }
  };
}

async function encode({ componentize }, { witPath, world, source, locate }) {
  try {
    const { component } = await componentize({ witPath, world, jsSource: source, sync: true, stubWasi: true });
    return component;
  } catch (error) {
    // "…Failed to finish JavaScript module evaluation: Error: text\n at f (componentize-qjs:user.js:12:3)"
    const own = error.message.replace(/^.*Failed to \w+ JavaScript module(?: evaluation)?: /, "");
    throw new BuildError(`the plugin's modules cannot be evaluated: ${locate(own).trim()}`);
  }
}

/** So that a half-written component is never seen. */
async function replace(output, bytes) {
  const temporary = `${output}.${process.pid}.tmp`;
  await writeFile(temporary, bytes);
  await rename(temporary, output);
}

async function keepBundle(folder, source, map) {
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, "bundle.js"), source);
  await writeFile(path.join(folder, "bundle.js.map"), map);
}
