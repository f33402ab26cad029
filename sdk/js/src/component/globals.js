/**
 * Global names in a component. The engine's own clock and generator must not be used: the first
 * ends the instance, since there is no WASI, and the second gives the same numbers in every
 * instance, since all start from one snapshot. What plugins expect and the engine lacks is added,
 * as far as it needs no event loop.
 */
import * as host from "#host";
import { clone } from "./clone.js";
import { Console } from "./console.js";
import { JobPromise } from "./promise.js";

const NativeDate = Date;

/** `new Date()` and `Date()` with the host's clock; the rest is the engine's. */
const HostDate = new Proxy(NativeDate, {
  construct(target, args, newTarget) {
    return Reflect.construct(target, args.length === 0 ? [host.now()] : args, newTarget);
  },
  apply(target) {
    return new target(host.now()).toString();
  },
});

/** xoshiro128**, seeded from the host at the first use in an instance. */
class Generator {
  #state;

  next() {
    this.#state ??= new Uint32Array(host.random(16).slice().buffer);
    const state = this.#state;
    const result = Math.imul(rotate(Math.imul(state[1], 5), 7), 9) >>> 0;
    const shifted = state[1] << 9;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= shifted;
    state[3] = rotate(state[3], 11);
    return result;
  }
}

const generator = new Generator();

define(NativeDate, "now", () => Math.floor(host.now()));
define(NativeDate.prototype, "constructor", HostDate);
define(globalThis, "Date", HostDate);
define(Math, "random", () => ((generator.next() >>> 5) * 0x4000000 + (generator.next() >>> 6)) / 0x20000000000000);
define(globalThis, "performance", Object.freeze({ timeOrigin: 0, now: () => host.now() }));
define(globalThis, "Promise", JobPromise);
define(globalThis, "queueMicrotask", (job) => void JobPromise.resolve().then(() => job()));
define(globalThis, "console", new Console());
define(globalThis, "structuredClone", clone);
define(Array, "fromAsync", fromAsync);
// Its promises would be the engine's, and nothing in a component runs those.
delete globalThis.AsyncDisposableStack;

async function fromAsync(items, map = (item) => item) {
  const result = [];
  for await (const item of items) result.push(await map(item, result.length));
  return result;
}

function rotate(value, bits) {
  return (value << bits) | (value >>> (32 - bits));
}

function define(object, name, value) {
  Object.defineProperty(object, name, { value, writable: true, configurable: true, enumerable: false });
}
