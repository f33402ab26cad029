/**
 * Restarts Deployments when a ConfigMap that they name in an annotation changes: a pod reads its
 * environment and many programs their files only when they start. What a Deployment was started with
 * is noted in annotations, so that nothing is missed while no host was running, and nothing is
 * restarted twice.
 */
import {
  ApiError,
  type Event,
  Failure,
  type KubeObject,
  type Outcome,
  cluster,
  definePlugin,
  log,
} from "@wharf-dev/sdk";

import { digest } from "./digest.ts";
import { names, noteName } from "./notes.ts";

const DEPLOYMENT = { apiVersion: "apps/v1", kind: "Deployment" };
const CONTENT = ["/data", "/binaryData"];

interface Config {
  /** The annotation of a Deployment that names ConfigMaps. */
  annotation: string;
}

export default definePlugin<Config>({
  describe: {
    name: "config-restarter",
    version: "0.1.0",
    reasons: ["RestartFailed"],
    subscribe: [
      { name: "main", apiVersion: "v1", kind: "ConfigMap", events: ["add", "update"] },
      { name: "deployments", ...DEPLOYMENT, events: [] },
    ],
    limits: { memory: "32Mi" },
  },

  config: (fields) => ({ annotation: fields.string("annotation", "wharf.dev/restart-on") }),

  validate: ({ annotation }) => (annotation === "" ? ["annotation: must not be empty"] : []),

  add: (event, config) => compare(event, config, false),

  // Where nothing is noted yet, a change that the host saw is reason enough.
  update: (event, config) => compare(event, config, event.changedAny(CONTENT)),
});

/** Brings all Deployments that name the ConfigMap to its present content. */
function compare(event: Event, { annotation }: Config, changed: boolean): Outcome | void {
  const note = noteName(event.name);
  const content = digest(
    event.current
      .rawMany(CONTENT)
      .map((text) => text ?? "")
      .join("\n"),
  );
  const failures: string[] = [];
  for (const deployment of deployments(event, annotation)) {
    const noted = deployment.metadata.annotations?.[note];
    if (noted === content) continue;
    try {
      bring(deployment, event, { [note]: content }, noted !== undefined || changed);
    } catch (error) {
      // It is gone meanwhile: there is nothing to restart.
      if (error instanceof ApiError && error.code === "not-found") continue;
      if (!(error instanceof ApiError)) throw error;
      failures.push(`${deployment.metadata.name}: ${error.message}`);
    }
  }
  if (failures.length > 0) throw Failure.retry("RestartFailed", failures.join("; "));
}

/** Those of the ConfigMap's namespace that name it. */
function deployments(event: Event, annotation: string): KubeObject[] {
  const fields = ["/metadata/name", "/metadata/uid", "/metadata/annotations"];
  const all = cluster.listAll(DEPLOYMENT, { namespace: event.namespace, fields });
  return all.filter(({ metadata }) => names(metadata.annotations?.[annotation]).includes(event.name));
}

/** The note at the Deployment says what it has; the same note at its pods is what restarts them. */
function bring(deployment: KubeObject, event: Event, note: Record<string, string>, restart: boolean): void {
  const { name, uid } = deployment.metadata;
  const target = { ...DEPLOYMENT, namespace: event.namespace, name, uid };
  const metadata = { annotations: note };
  cluster.mergePatch(target, restart ? { metadata, spec: { template: { metadata } } } : { metadata });
  if (!restart) return;
  log.info("restarted", { deployment: name, configMap: event.name });
  cluster.recordEvent(target, "Normal", "Restarted", `the ConfigMap ${event.name} changed`);
}
