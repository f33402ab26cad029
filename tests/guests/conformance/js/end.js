/**
 * Commands that end the call, well or badly, and those that look for what is left of the call before.
 */
import { Failure, Outcome } from "@wharf-dev/sdk";

import { report } from "./report.js";

let calls = 0;
const kept = [];

export const endCommands = {
  done: () => Outcome.done(),
  requeue: ({ ms }) => Outcome.requeueAfter(ms),
  retry({ reason, message, ms }) {
    const failure = Failure.retry(reason, message);
    throw ms === undefined ? failure : failure.after(ms);
  },
  permanent({ reason, message }) {
    throw Failure.permanent(reason, message);
  },
  error({ message }) {
    throw new Error(message);
  },
  panic() {
    const nothing = undefined;
    nothing();
  },
  "throw-value"({ message }) {
    throw message;
  },
  async rejected({ message }) {
    await undefined;
    throw new Error(message);
  },
  leave({ message }) {
    void Promise.resolve().then(() => console.log("left behind"));
    void Promise.reject(new Error("left behind"));
    throw new Error(message);
  },
  recurse: () => report(recurse(0)),
  spin() {
    for (let turns = 0; ; turns += 1);
  },
  allocate() {
    for (;;) kept.push(new Uint8Array(1 << 20).fill(1));
  },
  count() {
    calls += 1;
    report(calls);
  },
  churn({ bytes }) {
    calls += "x".repeat(bytes).length === bytes ? 1 : 0;
    report(calls);
  },
};

function recurse(depth) {
  return recurse(depth + 1) + 1;
}
