/**
 * How writes change JSON: merge patch (RFC 7396), and server-side apply for one manager, where lists
 * are replaced whole.
 */
import { valueAt } from "../backend/mock.js";

/** A JSON merge patch: null removes. */
export function patch(live, change) {
  if (!isObject(change)) return change;
  const object = isObject(live) ? live : {};
  for (const [name, value] of Object.entries(change)) {
    if (value === null) delete object[name];
    else object[name] = patch(object[name], value);
  }
  return object;
}

/** Sets what is applied; the rest stays. */
export function overlay(live, applied) {
  if (!isObject(applied)) return applied;
  const object = isObject(live) ? live : {};
  for (const [name, value] of Object.entries(applied)) object[name] = overlay(object[name], value);
  return object;
}

/** Removes what was applied before and is left out now. */
export function prune(live, before, now) {
  if (!isObject(live) || !isObject(before)) return live;
  for (const [name, old] of Object.entries(before)) {
    if (!isObject(now) || !Object.hasOwn(now, name)) delete live[name];
    else if (Object.hasOwn(live, name)) live[name] = prune(live[name], old, now[name]);
  }
  return live;
}

/** The object cut to some pointers; whole if there are none. */
export function keep(object, pointers) {
  if (pointers.length === 0) return object;
  const kept = {};
  for (const pointer of pointers) {
    const value = valueAt(object, pointer);
    if (value !== undefined) set(kept, pointer, value);
  }
  return kept;
}

function set(root, pointer, value) {
  const names = pointer
    .split("/")
    .slice(1)
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
  let place = root;
  for (const name of names.slice(0, -1)) place = place[name] ??= {};
  place[names.at(-1)] = value;
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
