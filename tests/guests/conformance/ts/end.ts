/**
 * Commands that end the call, well or badly, and those that look for what is left of the call before.
 */
import { Failure, Outcome } from "@wharf-dev/sdk";

import { type Commands, report } from "./command.ts";

interface Fault {
  reason: string;
  message: string;
  ms?: number;
}

type Message = Pick<Fault, "message">;

let calls = 0;
const kept: Uint8Array[] = [];

export const endCommands = {
  done: () => Outcome.done(),
  requeue: ({ ms }: { ms: number }) => Outcome.requeueAfter(ms),
  retry({ reason, message, ms }: Fault): never {
    const failure = Failure.retry(reason, message);
    throw ms === undefined ? failure : failure.after(ms);
  },
  permanent({ reason, message }: Fault): never {
    throw Failure.permanent(reason, message);
  },
  error({ message }: Message): never {
    throw new Error(message);
  },
  panic(): void {
    const nothing = undefined as unknown as () => void;
    nothing();
  },
  "throw-value"({ message }: Message): never {
    throw message;
  },
  async rejected({ message }: Message): Promise<never> {
    await undefined;
    throw new Error(message);
  },
  leave({ message }: Message): never {
    void Promise.resolve().then(() => console.log("left behind"));
    void Promise.reject(new Error("left behind"));
    throw new Error(message);
  },
  recurse: () => report(recurse(0)),
  spin(): void {
    for (let turns = 0; ; turns += 1);
  },
  allocate(): void {
    for (;;) kept.push(new Uint8Array(1 << 20).fill(1));
  },
  count(): void {
    calls += 1;
    report(calls);
  },
  churn({ bytes }: { bytes: number }): void {
    calls += "x".repeat(bytes).length === bytes ? 1 : 0;
    report(calls);
  },
} satisfies Commands;

function recurse(depth: number): number {
  return recurse(depth + 1) + 1;
}
