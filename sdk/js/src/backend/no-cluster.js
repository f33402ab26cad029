/**
 * The cluster in a component whose world lacks it, since its Plugin document grants nothing of it:
 * every use says so, as a host does that refuses. An Event that is not granted never fails there
 * either: it is a line in the log.
 */
import { logEmit } from "./component.js";

export const get = refuse;
export const listObjects = refuse;
export const create = refuse;
export const apply = refuse;
export const mergePatch = refuse;
export const remove = refuse;

const TEXT =
  "the Plugin document had no grant `cluster` when the component was built, so that it does not import the cluster; " +
  "add the grant and run `wharf build` again";

export function recordEvent(_about, _type, reason) {
  logEmit("warn", "Event not recorded", [
    ["reason", String(reason)],
    ["why", TEXT],
  ]);
}

function refuse() {
  throw Object.assign(new Error(TEXT), { payload: { tag: "not-granted", val: TEXT } });
}
