/**
 * The conformance guest in JavaScript: does what the object of the event tells it to, so that one
 * suite can compare the languages. ../README.md says what each command does; this file owns the
 * configuration and the choice of the command.
 */
import { Failure, config, definePlugin } from "@wharf-dev/sdk";

import { clusterCommands } from "./cluster.js";
import { endCommands } from "./end.js";
import { hostCommands } from "./host.js";
import { readCommands } from "./read.js";
import { report } from "./report.js";

const COMMANDS = {
  ...readCommands,
  ...hostCommands,
  ...endCommands,
  ...clusterCommands,
  config: (_args, _event, ownConfig) => report(ownConfig),
};

export default definePlugin({
  describe() {
    if (config.get("/greeting") === "throw-in-describe") throw new Error("thrown in describe");
    return {
      name: "conformance-js",
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
    const wrong = [];
    if (greeting === "") wrong.push("greeting: must not be empty");
    if (number < 0) wrong.push("number: must not be negative");
    return wrong;
  },

  add: obey,
  delete: obey,
});

function obey(event, ownConfig) {
  const command = event.string("/do") ?? "";
  if (!Object.hasOwn(COMMANDS, command)) throw Failure.permanent("UnknownCommand", `there is no command "${command}"`);
  return COMMANDS[command](event.get("/args") ?? {}, event, ownConfig);
}
