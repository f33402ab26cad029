/**
 * From lines of the bundle to files and lines of the sources: a small table for the component, made
 * from the bundler's source map (the component's side is src/component/stack.js), and the same for
 * errors of the build itself.
 */

import path from "node:path";

import { NAME, SDK } from "./bundle.js";

/** The name that the engine gives to the bundle. */
const FILE = "componentize-qjs:user.js";
const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** The bundle with its table, and a function that puts source places into a text with stack lines. */
export function withLines(code, map, plugin) {
  const { sources, mappings } = JSON.parse(map);
  const names = sources.map((source) => shortName(source, plugin));
  const lines = firstOfEachLine(mappings);
  const table = { file: FILE, sources: names, runs: runsOf(lines) };
  const source = `${code}\nglobalThis[Symbol.for("wharf.dev/lines")] = ${JSON.stringify(table)};\n`;
  const locate = (text) =>
    text.replace(/\(?componentize-qjs:user\.js:(\d+):\d+\)?/g, (whole, line) => {
      const place = lines[Number(line) - 1];
      return place === undefined ? whole : `(${names[place.source]}:${place.line})`;
    });
  return { source, locate };
}

/** Where each line of the bundle begins, or undefined. Lines count from 1, sources from 0. */
function firstOfEachLine(mappings) {
  let source = 0;
  let line = 0;
  return mappings.split(";").map((segments) => {
    let first;
    for (const segment of segments === "" ? [] : segments.split(",")) {
      const [, sourceStep, lineStep] = decode(segment);
      if (sourceStep === undefined) continue;
      source += sourceStep;
      line += lineStep;
      first ??= { source, line: line + 1 };
    }
    return first;
  });
}

/** A flat list of [first line in the bundle, source or -1, first line in the source]. */
function runsOf(lines) {
  const runs = [];
  let previous;
  lines.forEach((place, index) => {
    const goes =
      place === undefined
        ? previous === undefined
        : previous?.source === place.source && previous.line + 1 === place.line;
    if (!goes || index === 0) runs.push(index + 1, place?.source ?? -1, place?.line ?? 0);
    previous = place;
  });
  return runs;
}

/** Base64 VLQ, as source maps have it. */
function decode(segment) {
  const values = [];
  let value = 0;
  let shift = 0;
  for (const digit of segment) {
    const bits = DIGITS.indexOf(digit);
    value += (bits & 31) << shift;
    shift += 5;
    if ((bits & 32) !== 0) continue;
    values.push((value & 1) === 0 ? value >> 1 : -(value >> 1));
    value = 0;
    shift = 0;
  }
  return values;
}

/** This package's files by its name, those of other packages by theirs, the plugin's by their path in its folder. */
function shortName(source, plugin) {
  const file = path.resolve(plugin, source);
  if (file.startsWith(SDK)) return `${NAME}/${path.relative(SDK, file)}`;
  return source.replace(/^.*node_modules\//, "");
}
