/**
 * What a command is, and how it answers: one log line with a JSON text.
 */
import { type Event, type Result, log } from "@wharf-dev/sdk";

/** The configuration of the guest. */
export interface Config {
  readonly greeting: string;
  readonly number: number;
  readonly tags: readonly string[];
}

/** A command with arguments of its own. The suite hands over what the command needs: they are not checked. */
export type Command = (args: never, event: Event, config: Config) => Result;

export type Commands = Readonly<Record<string, Command>>;

export function report(value: unknown): void {
  log.info("result", { value: JSON.stringify(value ?? null) });
}
