/**
 * Time and randomness from the host. In a component `Date` and `Math.random` use the same.
 */
import * as host from "#host";

/** Milliseconds since 1970-01-01T00:00:00Z. */
export function now() {
  return host.now();
}

/** Random bytes from the host's secure generator, as a Uint8Array; at most 65,536. */
export function random(length) {
  return host.random(length);
}
