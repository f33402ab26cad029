/**
 * The plugin's configuration, `spec.config` of the Plugin document, as it is.
 */
import * as host from "#host";

/** The whole configuration as JSON text; `{}` where the document has none. */
export function json() {
  return host.configJson();
}

/** The value at an RFC 6901 pointer of the configuration; `undefined` if nothing is there. */
export function get(pointer) {
  const text = raw(pointer);
  return text === undefined ? undefined : JSON.parse(text);
}

/** The JSON text at a pointer of the configuration. */
export function raw(pointer) {
  return host.configGet(pointer);
}
