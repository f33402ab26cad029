/**
 * Promises whose jobs the component itself can run. The engine's own jobs run only in an event loop,
 * and a component has none: a call must be over when its function returns. The bundler turns
 * `async` functions into ones that use the global `Promise`, which is this class; so a handler may be
 * async, and all that it started has come to its end before the host gets its outcome.
 */

const PENDING = 0;
const FULFILLED = 1;
const REJECTED = 2;

const jobs = [];
/** Rejected promises that nobody has looked at yet. */
const unhandled = new Set();

/** Runs all jobs; then the value of `result`, which may be a promise or undefined. */
export function settle(result) {
  let ended;
  if (result !== undefined) {
    JobPromise.resolve(result).then(
      (value) => (ended = { value }),
      (error) => (ended = { error }),
    );
  }
  try {
    // Jobs may add jobs. The host's deadline ends a loop that never ends.
    for (let next = 0; next < jobs.length; next += 1) jobs[next]();
  } finally {
    jobs.length = 0;
  }
  if (result === undefined) return undefined;
  if (ended === undefined) {
    throw new Error(
      "the handler waits for a promise that nothing can fulfil: a component has no timers and no event loop",
    );
  }
  if ("error" in ended) throw ended.error;
  return ended.value;
}

/** The errors of rejected promises that nobody handled. */
export function takeUnhandled() {
  if (unhandled.size === 0) return [];
  const errors = [...unhandled].map(reasonOf);
  unhandled.clear();
  return errors;
}

/** Drops what a call left that did not come to its end: it must not run in the next one. */
export function forget() {
  jobs.length = 0;
  unhandled.clear();
}

export class JobPromise {
  #state = PENDING;
  #value = undefined;
  #waiting = [];

  constructor(executor) {
    if (typeof executor !== "function") throw new TypeError("Promise: the executor must be a function");
    const { resolve, reject } = this.#resolvers();
    try {
      executor(resolve, reject);
    } catch (error) {
      reject(error);
    }
  }

  then(onFulfilled, onRejected) {
    const result = withResolvers(JobPromise);
    this.#react((state, value) => {
      const handler = state === FULFILLED ? onFulfilled : onRejected;
      if (typeof handler !== "function") return state === FULFILLED ? result.resolve(value) : result.reject(value);
      try {
        return result.resolve(handler(value));
      } catch (error) {
        return result.reject(error);
      }
    });
    return result.promise;
  }

  catch(onRejected) {
    return this.then(undefined, onRejected);
  }

  finally(onFinally) {
    if (typeof onFinally !== "function") return this.then(onFinally, onFinally);
    return this.then(
      (value) => JobPromise.resolve(onFinally()).then(() => value),
      (error) =>
        JobPromise.resolve(onFinally()).then(() => {
          throw error;
        }),
    );
  }

  static resolve(value) {
    if (value instanceof JobPromise) return value;
    return new JobPromise((resolve) => resolve(value));
  }

  static reject(error) {
    return new JobPromise((_resolve, reject) => reject(error));
  }

  static withResolvers() {
    return withResolvers(this);
  }

  static try(work, ...args) {
    return new JobPromise((resolve) => resolve(work(...args)));
  }

  static all(items) {
    return collect(
      items,
      (store, reject) => [store, reject],
      (values) => values,
    );
  }

  static allSettled(items) {
    const fulfilled = (value) => ({ status: "fulfilled", value });
    const rejected = (reason) => ({ status: "rejected", reason });
    return collect(
      items,
      (store) => [(value) => store(fulfilled(value)), (error) => store(rejected(error))],
      (values) => values,
    );
  }

  static any(items) {
    const { promise, resolve, reject } = withResolvers(JobPromise);
    collect(
      items,
      (store) => [resolve, store],
      (errors) => reject(new AggregateError(errors, "all promises were rejected")),
    );
    return promise;
  }

  static race(items) {
    return new JobPromise((resolve, reject) => {
      for (const item of items) JobPromise.resolve(item).then(resolve, reject);
    });
  }

  static get [Symbol.species]() {
    return this;
  }

  /** The reason, for the list of unhandled ones. */
  static reasonOf(promise) {
    return promise.#value;
  }

  #react(reaction) {
    unhandled.delete(this);
    if (this.#state === PENDING) this.#waiting.push(reaction);
    else enqueue(() => reaction(this.#state, this.#value));
  }

  /** The two functions that end this promise, of which the first call counts. */
  #resolvers() {
    let called = false;
    const once = (work) => (value) => {
      if (called) return;
      called = true;
      work(value);
    };
    return { resolve: once((value) => this.#resolve(value)), reject: once((error) => this.#end(REJECTED, error)) };
  }

  #resolve(value) {
    if (value === this) return this.#end(REJECTED, new TypeError("a promise cannot wait for itself"));
    if ((typeof value !== "object" && typeof value !== "function") || value === null)
      return this.#end(FULFILLED, value);
    let then;
    try {
      then = value.then;
    } catch (error) {
      return this.#end(REJECTED, error);
    }
    if (typeof then !== "function") return this.#end(FULFILLED, value);
    enqueue(() => this.#follow(value, then));
  }

  #follow(value, then) {
    const { resolve, reject } = this.#resolvers();
    try {
      then.call(value, resolve, reject);
    } catch (error) {
      reject(error);
    }
  }

  #end(state, value) {
    this.#state = state;
    this.#value = value;
    if (state === REJECTED && this.#waiting.length === 0) unhandled.add(this);
    for (const reaction of this.#waiting) enqueue(() => reaction(state, value));
    this.#waiting = [];
  }
}

Object.defineProperty(JobPromise, "name", { value: "Promise", configurable: true });
Object.defineProperty(JobPromise.prototype, Symbol.toStringTag, { value: "Promise", configurable: true });

const { reasonOf } = JobPromise;

function withResolvers(Class) {
  let resolve;
  let reject;
  const promise = new Class((whenFulfilled, whenRejected) => {
    resolve = whenFulfilled;
    reject = whenRejected;
  });
  return { promise, resolve, reject };
}

/** Runs a function after the running one. */
function enqueue(job) {
  jobs.push(job);
}

/** A promise of all items' results, each kept at its place by what `handlers` makes of it. */
function collect(items, handlers, finish) {
  return new JobPromise((resolve, reject) => {
    const values = [];
    let left = 1;
    const done = () => {
      left -= 1;
      if (left === 0) resolve(finish(values));
    };
    for (const item of items) {
      const index = values.push(undefined) - 1;
      left += 1;
      const store = (value) => {
        values[index] = value;
        done();
      };
      JobPromise.resolve(item).then(...handlers(store, reject));
    }
    done();
  });
}
