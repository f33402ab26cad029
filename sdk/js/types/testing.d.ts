/**
 * A mock of the host, so that a plugin's logic is tested natively, for example by `node --test`. It
 * knows no RBAC and no admission, and its server-side apply knows one field manager: what depends on
 * those is tested against a real API server.
 */
import type { ApiError, Change, Delivery, KubeObject, ObjectRef, Outcome, Plugin } from "./index.js";
import type { Level } from "./log.js";

export interface HostOptions {
  /** `spec.config`; `{}` by default. */
  config?: object;
  /** The clock, in milliseconds since 1970. It goes on by one with every look at it. */
  now?: number;
  /** Lines below this level are dropped; all are kept by default. */
  logLevel?: Level;
}

/** A call with everything that a host can say about it; what is left out has the usual value. */
export interface Call extends Partial<Omit<Delivery, "key">> {
  change: Change;
  object: object;
  previous?: object;
  /** Neither state of the object is known any more, as after a restart of the host. */
  absent?: boolean;
}

export type Operation = "get" | "list" | "create" | "apply" | "mergePatch" | "delete";

export interface LogLine {
  level: Level;
  message: string;
  fields: Record<string, string>;
}

export interface RecordedEvent {
  about: ObjectRef;
  type: "Normal" | "Warning";
  reason: string;
  message: string;
}

/** A write that the mock accepted. */
export interface Write {
  operation: Operation;
  target: ObjectRef;
  /** The object or patch as sent; null for a delete. */
  body: unknown;
  dryRun: boolean;
  force: boolean;
}

/** A plugin of any configuration. */
type AnyPlugin = Plugin<unknown>;

/** The host of one test. */
export class Host {
  constructor(options?: HostOptions);
  /** Puts an object into the cluster, as another client would. Its uid is kept or made up. */
  object(object: object): this;
  /** From now on, writes into this namespace are answered as for one that does not exist. */
  missingNamespace(namespace: string): this;
  /** Takes `missingNamespace` back. */
  existingNamespace(namespace: string): this;
  /** The next use of this function of the cluster fails so. Several are used up in order. */
  fail(operation: Operation, error: ApiError): this;
  /** What the plugin says is wrong with its configuration. */
  validate(plugin: AnyPlugin): Promise<string[]>;
  /** What the plugin asks for, as the host reads it. */
  describe(plugin: AnyPlugin): Promise<Record<string, unknown>>;
  /** Calls `add`; the object is in the cluster from then on. Rejects with a Failure, as do the others. */
  add(plugin: AnyPlugin, object: object): Promise<Outcome>;
  /** Calls `update`; the cluster has the current object from then on. */
  update(plugin: AnyPlugin, previous: object, object: object): Promise<Outcome>;
  /** Calls `delete` with this final state; the object is no longer in the cluster. */
  delete(plugin: AnyPlugin, object: object): Promise<Outcome>;
  call(plugin: AnyPlugin, call: Call): Promise<Outcome>;
  /** Of all calls so far. */
  readonly logs: LogLine[];
  readonly events: RecordedEvent[];
  readonly writes: Write[];
  /** Forgets log lines, Events and writes. */
  clear(): this;
  /** An object of the cluster as it is now. */
  get(target: ObjectRef): KubeObject | undefined;
}
