/**
 * Commands that use what is no object and no cluster: log, configuration, time, randomness.
 */
import { config, log, system } from "@wharf-dev/sdk";

import { type Commands, report } from "./command.ts";

const LEVELS = ["trace", "debug", "info", "warn", "error"] as const;

interface Line {
  level: (typeof LEVELS)[number];
  message: string;
  fields?: [string, string][];
}

export const hostCommands = {
  log: ({ level, message, fields = [] }: Line) => log.emit(level, message, fields),
  "native-log": ({ message }: Pick<Line, "message">) => LEVELS.forEach((level) => console[level](message)),
  print: ({ message }: Pick<Line, "message">) => console.log(message),
  enabled: () => report(Object.fromEntries(LEVELS.map((level) => [level, log.enabled(level)]))),
  "config-value": ({ pointer }: { pointer: string }) => report(config.raw(pointer)),
  now: () => report(Math.floor(system.now() / 1000)),
  "native-now": () => report(Math.floor(Date.now() / 1000)),
  random: ({ len }: { len: number }) => report(hex(system.random(len))),
  "native-random": () => report([Math.random(), Math.random()]),
} satisfies Commands;

/** The bytes in hex, or only their number if there are many. */
function hex(bytes: Uint8Array): string | number {
  if (bytes.length > 64) return bytes.length;
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
