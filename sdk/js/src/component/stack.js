/**
 * Errors with their stack, in the files and lines of the plugin's own source: the engine only knows
 * the bundle that the component was made of. The build leaves a table for that.
 */
import { explainError } from "../errors.js";

/** Where the build leaves `{file, sources, runs}`; see build/lines.js. */
const TABLE = Symbol.for("wharf.dev/lines");
const SDK = "@wharf-dev/sdk/";
const MAX_CAUSES = 5;

/** The text of an error, its stack, and the errors that caused it. */
export function explainWithStack(error) {
  const parts = [explainOne(error)];
  const causes = causesOf(error);
  while (causes.length > 0 && parts.length <= MAX_CAUSES) {
    const cause = causes.shift();
    parts.push(`caused by: ${explainOne(cause)}`);
    causes.push(...causesOf(cause));
  }
  return parts.join("\n");
}

function causesOf(error) {
  if (error instanceof AggregateError) return [...error.errors];
  return error instanceof Error && error.cause !== undefined ? [error.cause] : [];
}

function explainOne(error) {
  const stack = error instanceof Error && typeof error.stack === "string" ? ownFrames(error.stack) : [];
  return [explainError(error), ...stack].join("\n");
}

/** The frames of the plugin, without those of this package and of the bundler's helpers below them. */
function ownFrames(stack) {
  const frames = stack
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map(translate);
  while (frames.length > 0 && isForeign(frames.at(-1))) frames.pop();
  return frames;
}

function isForeign(frame) {
  const file = globalThis[TABLE]?.file;
  return frame.includes(`(${SDK}`) || frame.includes("(native)") || (file !== undefined && frame.includes(`(${file}:`));
}

function translate(frame) {
  const table = globalThis[TABLE];
  if (table === undefined) return frame;
  return frame.replace(/\(([^()]*):(\d+):\d+\)/, (whole, file, line) => {
    if (file !== table.file) return whole;
    const place = find(table.runs, Number(line));
    return place === undefined ? whole : `(${table.sources[place.source]}:${place.line})`;
  });
}

/** `runs` is a flat list of [first line in the bundle, source or -1, first line in the source]. */
function find(runs, line) {
  let low = 0;
  let high = runs.length / 3 - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (runs[middle * 3] <= line) low = middle;
    else high = middle - 1;
  }
  const [start, source, first] = runs.slice(low * 3, low * 3 + 3);
  return source === undefined || source < 0 || line < start ? undefined : { source, line: first + line - start };
}
