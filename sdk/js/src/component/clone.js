/**
 * `structuredClone` for what plugins have: plain objects, arrays, maps, sets, dates, errors, regular
 * expressions and binary data, with cycles. Functions and symbols cannot be cloned, as elsewhere.
 */

/** A deep copy. */
export function clone(value) {
  return copy(value, new Map());
}

function copy(value, seen) {
  if (typeof value === "function" || typeof value === "symbol") {
    throw new DOMException(`${String(value)} could not be cloned`, "DataCloneError");
  }
  if (typeof value !== "object" || value === null) return value;
  if (seen.has(value)) return seen.get(value);
  const leaf = copyLeaf(value);
  if (leaf !== undefined) {
    seen.set(value, leaf);
    return leaf;
  }
  const empty = emptyLike(value);
  seen.set(value, empty);
  fill(empty, value, seen);
  return empty;
}

/** What has no other values inside. */
function copyLeaf(value) {
  if (value instanceof Date) return new Date(value.getTime());
  if (value instanceof RegExp) return new RegExp(value.source, value.flags);
  if (value instanceof ArrayBuffer) return value.slice();
  if (value instanceof DataView) return new DataView(value.buffer.slice(), value.byteOffset, value.byteLength);
  if (ArrayBuffer.isView(value)) return value.slice();
  if (value instanceof Boolean || value instanceof Number || value instanceof String) return Object(value.valueOf());
  return undefined;
}

function emptyLike(value) {
  if (Array.isArray(value)) return new Array(value.length);
  if (value instanceof Map) return new Map();
  if (value instanceof Set) return new Set();
  if (value instanceof Error) return Object.assign(new Error(value.message), { name: value.name, stack: value.stack });
  return {};
}

function fill(target, value, seen) {
  if (value instanceof Map) {
    for (const [key, item] of value) target.set(copy(key, seen), copy(item, seen));
  } else if (value instanceof Set) {
    for (const item of value) target.add(copy(item, seen));
  } else {
    for (const key of Object.keys(value)) target[key] = copy(value[key], seen);
  }
}
