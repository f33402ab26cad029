/** Time and randomness from the host. `Date` and `Math.random` use the same. */

/** Milliseconds since 1970-01-01T00:00:00Z. */
export function now(): number;
/** Random bytes from the host's secure generator; at most 65,536. */
export function random(length: number): Uint8Array;
