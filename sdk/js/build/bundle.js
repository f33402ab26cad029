/**
 * One module of all the plugin's modules, the packages that it uses, and this package. Owns what of
 * JavaScript the component's engine takes. Knows nothing of components.
 */
import { builtinModules } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { BuildError } from "./error.js";

/** The folder of this package. */
export const SDK = fileURLToPath(new URL("../", import.meta.url));
/** Its name. */
export const NAME = "@wharf-dev/sdk";
const ENTRY = "wharf-entry.js";
const ENTRIES = { [NAME]: "src/index.js", [`${NAME}/component`]: "src/component/index.js" };

/** The bundle, its source map, and the bundler's warnings. */
export async function bundle(esbuild, plugin, entry, cluster) {
  const options = {
    absWorkingDir: plugin,
    stdin: { contents: entryModule(entry), resolveDir: plugin, sourcefile: ENTRY },
    outfile: "bundle.js",
    bundle: true,
    write: false,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    conditions: ["wharf-component", ...(cluster ? ["wharf-cluster"] : []), "import", "module"],
    target: "es2024",
    // Async functions must use the global Promise (src/component/promise.js says why).
    supported: { "async-await": false, "async-generator": false, "for-await": false, using: false },
    define: { "process.env.NODE_ENV": '"production"' },
    external: ["wharf:plugin/*"],
    charset: "utf8",
    sourcemap: "external",
    sourcesContent: false,
    logLevel: "silent",
    plugins: [ownPackage()],
  };
  try {
    const { outputFiles, warnings } = await esbuild.build(options);
    const [map, code] = [...outputFiles].sort((a, b) => b.path.length - a.path.length);
    return { code: code.text, map: map.text, warnings: warnings.map(message) };
  } catch (error) {
    if (!Array.isArray(error.errors)) throw error;
    throw new BuildError(error.errors.map(message).join("\n"));
  }
}

/** The package first: it puts the host's clock, console and promises in place before the plugin's modules run. */
function entryModule(entry) {
  const file = entry.startsWith(".") ? entry : `./${entry}`;
  return [
    `import { bind } from "${NAME}/component";`,
    `import plugin from ${JSON.stringify(file)};`,
    `export const { setup, handler } = bind(plugin, ${JSON.stringify(entry)});`,
  ].join("\n");
}

/** The plugin always gets this copy of the package, which fits the host's contract. */
function ownPackage() {
  return {
    name: NAME,
    setup({ onResolve }) {
      onResolve({ filter: /^@wharf-dev\/sdk(\/|$)/ }, ({ path: name }) => {
        const file = ENTRIES[name];
        if (file !== undefined) return { path: path.join(SDK, file) };
        return { errors: [{ text: `${name} is for tests, which run natively: a component cannot import it` }] };
      });
    },
  };
}

function message({ text, location }) {
  const place =
    location === null || location.file === ENTRY ? "" : `${location.file}:${location.line}:${location.column + 1}: `;
  return `${place}${text}${hint(text, location?.file)}`;
}

function hint(text, file) {
  const missing = /^Could not resolve "([^"]+)"/.exec(text)?.[1];
  if (missing !== undefined && file === ENTRY) return ": package.json names it as `main`";
  if (missing !== undefined && missing.startsWith(".")) return "";
  if (missing !== undefined) {
    const isBuiltin = missing.startsWith("node:") || builtinModules.includes(missing);
    return isBuiltin
      ? ": a module of Node.js, which a component does not have"
      : ": is it among the dependencies in package.json, and did `npm install` run?";
  }
  if (text.startsWith("No matching export") && text.includes('"default"')) {
    return ": the plugin's main module must `export default definePlugin({...})`";
  }
  if (text.startsWith("Top-level await")) {
    return ": the top level of a module runs once, while the component is built; await inside of a handler";
  }
  return "";
}
