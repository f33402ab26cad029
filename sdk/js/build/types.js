/**
 * The check of a TypeScript plugin by its own TypeScript, beside the build. A plugin that does not
 * ask for TypeScript in its package.json is built without: the bundler only takes the types away.
 */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

import { BuildError } from "./error.js";

/** "checked", or why not. Rejects if there are errors. */
export async function checkTypes(plugin, entry) {
  const manifest = JSON.parse(readFileSync(path.join(plugin, "package.json"), "utf8"));
  const wanted = manifest.devDependencies?.typescript ?? manifest.dependencies?.typescript;
  if (wanted === undefined) return "not checked: package.json has no devDependency `typescript`";
  const compiler = findUp(plugin, path.join("node_modules", "typescript", "bin", "tsc"));
  if (compiler === undefined) return "not checked: `typescript` is not installed; run `npm install`";
  if (!existsSync(path.join(plugin, "tsconfig.json"))) {
    if (!entry.endsWith(".ts")) return "not checked: there is no tsconfig.json";
    throw new BuildError(`${plugin}: tsconfig.json is missing; make one with "strict": true`);
  }
  return run(compiler, plugin);
}

function run(compiler, plugin) {
  const { promise, resolve, reject } = withResolvers();
  execFile(
    process.execPath,
    [compiler, "--noEmit", "--pretty", "false", "-p", plugin],
    { cwd: plugin },
    (error, stdout, stderr) => {
      if (error === null) resolve("checked");
      else reject(new BuildError(`${stdout}${stderr}`.trim()));
    },
  );
  return promise;
}

/** Packages may be installed in a folder above. */
function findUp(folder, file) {
  for (let place = folder; ; place = path.dirname(place)) {
    const candidate = path.join(place, file);
    if (existsSync(candidate)) return candidate;
    if (path.dirname(place) === place) return undefined;
  }
}

/** `Promise.withResolvers`, which Node.js 20 lacks. */
function withResolvers() {
  let resolve;
  let reject;
  const promise = new Promise((whenDone, whenFailed) => {
    resolve = whenDone;
    reject = whenFailed;
  });
  return { promise, resolve, reject };
}
