/**
 * The conformance guest in TypeScript: does what the object of the event tells it to, so that one
 * suite can compare the languages. ../README.md says what each command does; this file owns the
 * configuration and the choice of the command.
 */
import { type Event, Failure, type Result, config, definePlugin } from "@wharf-dev/sdk";

import { clusterCommands } from "./cluster.ts";
import { type Commands, type Config, report } from "./command.ts";
import { endCommands } from "./end.ts";
import { hostCommands } from "./host.ts";
import { readCommands } from "./read.ts";

const COMMANDS: Commands = {
  ...readCommands,
  ...hostCommands,
  ...endCommands,
  ...clusterCommands,
  config: (_args: object, _event: Event, ownConfig: Config) => report(ownConfig),
};

export default definePlugin<Config>({
  describe() {
    if (config.get("/greeting") === "throw-in-describe") throw new Error("thrown in describe");
    return {
      name: "conformance-ts",
      version: "0.1.0",
      reasons: ["Custom", "UnknownCommand"],
      subscribe: [{ name: "main", apiVersion: "v1", kind: "ConfigMap" }],
    };
  },

  config: (fields) => ({
    greeting: fields.string("greeting", "hello"),
    number: fields.integer("number", 0),
    tags: fields.strings("tags", []),
  }),

  validate({ greeting, number }) {
    if (greeting === "throw") throw new Error("thrown in validate");
    const wrong: string[] = [];
    if (greeting === "") wrong.push("greeting: must not be empty");
    if (number < 0) wrong.push("number: must not be negative");
    return wrong;
  },

  add: obey,
  delete: obey,
});

function obey(event: Event, ownConfig: Config): Result {
  const name = event.string("/do") ?? "";
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) throw Failure.permanent("UnknownCommand", `there is no command "${name}"`);
  return command((event.get("/args") ?? {}) as never, event, ownConfig);
}
