/**
 * The component's promises, compared with those of Node.js where both can run the same.
 */
import assert from "node:assert/strict";
import { test } from "node:test";

import { JobPromise, forget, settle, takeUnhandled } from "../src/component/promise.js";

test("jobs run in order, after the code that made them", () => {
  const order = [];
  const promise = JobPromise.resolve().then(() => order.push("first"));
  JobPromise.resolve().then(() => order.push("second"));
  promise.then(() => order.push("third"));
  order.push("code");
  settle();
  assert.deepEqual(order, ["code", "first", "second", "third"]);
});

test("a promise settles to what it follows", () => {
  assert.equal(settle(JobPromise.resolve(JobPromise.resolve(1)).then((value) => JobPromise.resolve(value + 1))), 2);
  assert.equal(settle({ then: (resolve) => resolve(3) }), 3);
  assert.throws(() => settle(JobPromise.reject(new RangeError("no"))), RangeError);
  assert.throws(
    () =>
      settle(
        new JobPromise(() => {
          throw new RangeError("no");
        }),
      ),
    RangeError,
  );
  assert.throws(() => settle(new JobPromise(() => {})), /waits for a promise that nothing can fulfil/);
  const { promise, resolve } = JobPromise.withResolvers();
  resolve(promise);
  assert.throws(() => settle(promise), TypeError);
  assert.throws(() => new JobPromise(1), TypeError);
});

test("all, allSettled, any, race, try and finally give what those of Node.js give", async () => {
  const uses = [
    (P) => P.all([1, P.resolve(2), { then: (done) => done(3) }]),
    (P) => P.all([]),
    (P) => P.all([1, P.reject("no")]),
    (P) => P.allSettled([P.reject("no"), 1]),
    (P) => P.any([P.reject("no"), P.resolve(2), 3]),
    (P) => P.any([P.reject("a"), P.reject("b")]).catch((error) => [error.name, error.errors]),
    (P) => P.race([P.reject("no"), 1]),
    (P) => P.resolve(1).finally(() => 2),
    (P) => P.reject("no").finally(() => P.resolve(2)),
    (P) =>
      P.resolve(1).finally(() => {
        throw "other";
      }),
    (P) => P.reject("no").catch((error) => [error]),
    (P) => P.resolve(1).then(undefined, undefined),
  ];
  const end = (promise) =>
    promise.then(
      (value) => ({ value }),
      (error) => ({ error }),
    );
  for (const use of uses) assert.deepEqual(settle(end(use(JobPromise))), await end(use(Promise)), String(use));
  assert.equal(settle(JobPromise.try((a, b) => a + b, 1, 2)), 3);
  assert.deepEqual(takeUnhandled(), []);
});

test("a rejection that nobody handles is found", () => {
  JobPromise.reject("lost");
  const handled = JobPromise.reject("seen");
  handled.catch(() => {});
  settle();
  assert.deepEqual([takeUnhandled(), takeUnhandled()], [["lost"], []]);
});

test("nothing of a call that broke off is left for the next one", () => {
  const order = [];
  JobPromise.resolve().then(() => order.push("left behind"));
  JobPromise.reject("lost");
  forget();
  settle();
  assert.deepEqual([order, takeUnhandled()], [[], []]);
});
