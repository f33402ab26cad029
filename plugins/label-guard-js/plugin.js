/**
 * Reports ConfigMaps without a required label: a warning in the log, and a Kubernetes Event that
 * `kubectl describe` shows. Changes nothing.
 */
import { cluster, definePlugin, log } from "@wharf-dev/sdk";

/** In every namespace, made by the cluster itself. */
const ROOT_CA = "kube-root-ca.crt";

export default definePlugin({
  describe: {
    name: "label-guard",
    version: "0.1.0",
    subscribe: [{ name: "main", apiVersion: "v1", kind: "ConfigMap", events: ["add", "update"] }],
    limits: { memory: "16Mi" },
  },

  config: (fields) => ({ requiredLabel: fields.string("requiredLabel", "owner") }),

  validate: ({ requiredLabel }) => (requiredLabel === "" ? ["requiredLabel: must not be empty"] : []),

  add(event, { requiredLabel }) {
    if (event.name === ROOT_CA || event.delivery.deleting || event.label(requiredLabel) !== undefined) return;
    log.warn("label missing", { label: requiredLabel });
    cluster.recordEvent(event.key, "Warning", "MissingLabel", `the label "${requiredLabel}" is required`);
  },
});
