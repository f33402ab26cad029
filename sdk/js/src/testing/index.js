/**
 * A mock of the host, so that a plugin's logic is tested natively by `node --test`. It holds the
 * configuration and a small cluster, makes calls of a plugin, and records what the plugin did. It
 * knows no RBAC and no admission, and its server-side apply knows one field manager: what depends
 * on those is tested against a real API server.
 */
import { enter } from "../backend/mock.js";
import { failureOf } from "../errors.js";
import { readConfig } from "../fields.js";
import { call, describe, validate } from "../plugin.js";
import { begin } from "./call.js";
import { Cluster } from "./cluster.js";

/** The host of one test. */
export class Host {
  #state;

  constructor({ config = {}, now = 1_700_000_000_000, logLevel = "trace" } = {}) {
    this.#state = {
      config,
      nowMs: now,
      logLevel,
      remainingMs: 0,
      seed: 1,
      revisions: {},
      cluster: new Cluster(),
      failures: [],
      logs: [],
      events: [],
      writes: [],
    };
  }

  /** Puts an object into the cluster, as another client would. Its uid is kept or made up. */
  object(object) {
    this.#state.cluster.put(object);
    return this;
  }

  /** From now on, writes into this namespace are answered as for a namespace that does not exist. */
  missingNamespace(namespace) {
    this.#state.cluster.missingNamespaces.add(namespace);
    return this;
  }

  /** Takes `missingNamespace` back. */
  existingNamespace(namespace) {
    this.#state.cluster.missingNamespaces.delete(namespace);
    return this;
  }

  /** The next use of this function of the cluster fails so. Several are used up in order. */
  fail(operation, error) {
    this.#state.failures.push({ operation, error });
    return this;
  }

  /** What the plugin says is wrong with its configuration. */
  async validate(plugin) {
    return enter(this.#state, () => validate(plugin, JSON.stringify(this.#state.config)));
  }

  /** What the plugin asks for, as the host reads it. */
  async describe(plugin) {
    return JSON.parse(enter(this.#state, () => describe(plugin)));
  }

  /** Calls `add`; the object is in the cluster from then on. */
  async add(plugin, object) {
    return this.call(plugin, { change: "add", object });
  }

  /** Calls `update`; the cluster has the current object from then on. */
  async update(plugin, previous, object) {
    return this.call(plugin, { change: "update", object, previous });
  }

  /** Calls `delete` with this final state; the object is no longer in the cluster. */
  async delete(plugin, object) {
    return this.call(plugin, { change: "delete", object, previous: object });
  }

  /** Makes a call with everything that a host can say about it. Rejects with a Failure. */
  async call(plugin, options) {
    const delivery = begin(this.#state, options);
    try {
      const config = readConfig(plugin, JSON.stringify(this.#state.config));
      return await enter(this.#state, () => call(plugin, options.change, delivery, config));
    } catch (error) {
      throw failureOf(error);
    } finally {
      this.#state.revisions = {};
      this.#state.remainingMs = 0;
    }
  }

  /** The log lines of all calls so far. */
  get logs() {
    return this.#state.logs;
  }

  /** The Kubernetes Events of all calls so far. */
  get events() {
    return this.#state.events;
  }

  /** The writes of all calls so far that did not fail. */
  get writes() {
    return this.#state.writes;
  }

  /** Forgets log lines, Events and writes. */
  clear() {
    this.#state.logs.length = 0;
    this.#state.events.length = 0;
    this.#state.writes.length = 0;
    return this;
  }

  /** An object of the cluster as it is now. */
  get(target) {
    return this.#state.cluster.peek(target);
  }
}
