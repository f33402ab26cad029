/**
 * How a call ends: done, again later, or failed. Never decides when a key comes back: the host's
 * queue does.
 */

/** The longest time that the contract can carry: 49 days. */
const LONGEST_MS = 0xffff_ffff;

/** A call that succeeded. A handler that returns nothing is done as well. */
export class Outcome {
  /** Forget the key until it changes again. */
  static done() {
    return new Outcome(undefined);
  }

  /** Call again after so many milliseconds even if nothing changes. */
  static requeueAfter(ms) {
    return new Outcome(milliseconds("Outcome.requeueAfter", ms));
  }

  constructor(requeueAfterMs) {
    this.requeueAfterMs = requeueAfterMs;
    Object.freeze(this);
  }
}

/** A call that failed, as the plugin itself says: throw it. */
export class Failure extends Error {
  /** Try again, with the queue's backoff. `reason` is one CamelCase word, listed in the description. */
  static retry(reason, message, options) {
    return new Failure(false, reason, message, options);
  }

  /** Do not try again until the object changes. */
  static permanent(reason, message, options) {
    return new Failure(true, reason, message, options);
  }

  constructor(permanent, reason, message, options = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.name = "Failure";
    this.permanent = permanent;
    this.reason = String(reason);
    this.retryAfterMs = undefined;
    if (options.afterMs !== undefined) this.after(options.afterMs);
  }

  /** Not before so many milliseconds, instead of the queue's backoff. Without effect on a permanent failure. */
  after(ms) {
    this.retryAfterMs = milliseconds("Failure.after", ms);
    return this;
  }
}

function milliseconds(what, ms) {
  if (typeof ms !== "number" || !(ms >= 0)) {
    throw new TypeError(`${what}: a number of milliseconds is needed, not ${String(ms)}`);
  }
  return Math.min(Math.round(ms), LONGEST_MS);
}
