/**
 * Gives every new namespace the objects of the configuration, by server-side apply: quotas, limits,
 * role bindings, network policies. What is applied stays the plugin's: with a new configuration all
 * namespaces are brought up to date.
 */
import { ApiError, Failure, cluster, definePlugin, log } from "@wharf-dev/sdk";

import { checkObject, objectFor } from "./template.js";

export default definePlugin({
  describe: {
    name: "namespace-bootstrapper",
    version: "0.1.0",
    reasons: ["ApplyFailed"],
    subscribe: [{ name: "main", apiVersion: "v1", kind: "Namespace", events: ["add", "update"] }],
    limits: { memory: "32Mi" },
  },

  config: (fields) => ({
    objects: fields.objects("objects", (object) => object.all()),
    exclude: fields.strings("exclude", ["default", "kube-system", "kube-public", "kube-node-lease"]),
    force: fields.boolean("force", false),
  }),

  validate: ({ objects }) => objects.flatMap((object, index) => checkObject(object, `objects[${index}]`)),

  add: bootstrap,

  update(event, config) {
    // Changes of the namespace itself are not the plugin's business; a retry, a new configuration and the like are.
    if (event.delivery.cause !== "watch") bootstrap(event, config);
  },
});

function bootstrap(event, { objects, exclude, force }) {
  if (event.delivery.deleting || exclude.includes(event.name)) return;
  const errors = [];
  for (const template of objects) {
    const object = objectFor(template, event.name);
    try {
      cluster.apply(object, { force });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      errors.push({ error, name: `${object.kind} ${object.metadata.name}` });
    }
  }
  if (errors.length > 0) throw failure(event, errors);
  log.info("bootstrapped", { objects: objects.length });
  cluster.recordEvent(event.key, "Normal", "Bootstrapped", `${objects.length} objects applied`);
}

/** What the API server refuses as invalid stays so until the configuration is another one. */
function failure(event, errors) {
  const message = errors.map(({ error, name }) => `${name}: ${error.message}`).join("; ");
  cluster.recordEvent(event.key, "Warning", "ApplyFailed", message);
  const hopeless = errors.every(({ error }) => error.code === "invalid");
  return hopeless ? Failure.permanent("ApplyFailed", message) : Failure.retry("ApplyFailed", message);
}
