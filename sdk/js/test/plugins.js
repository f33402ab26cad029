/**
 * Plugins and objects for the tests.
 */
import { definePlugin } from "@wharf-dev/sdk";

const describe = { name: "test", version: "1", subscribe: [{ name: "main", apiVersion: "v1", kind: "ConfigMap" }] };

/** A plugin whose `add` is this function. */
export function pluginOf(add, more = {}) {
  return definePlugin({ describe, config: (fields) => fields.all(), add, ...more });
}

export function configMap(name, more = {}) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "a", name, uid: "u1" }, ...more };
}

/** What a function gives inside of a call for this object. */
export async function inside(host, object, work) {
  let result;
  await host.add(
    pluginOf((event) => {
      result = work(event);
    }),
    object,
  );
  return result;
}
