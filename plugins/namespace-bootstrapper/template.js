/**
 * Objects of the configuration: what must be in them, and what becomes of them in a namespace.
 */

const PLACE = "${namespace}";

/** What is wrong with an object of the configuration. */
export function checkObject(object, where) {
  const problems = [];
  for (const field of ["apiVersion", "kind"]) {
    if (typeof object[field] !== "string") problems.push(`${where}.${field}: must be a string`);
  }
  if (typeof object.metadata?.name !== "string") problems.push(`${where}.metadata.name: must be a string`);
  if (object.metadata?.namespace !== undefined)
    problems.push(`${where}.metadata.namespace: must be left out; it is the new namespace`);
  return problems;
}

/** The object in a namespace: `${namespace}` in any of its texts is the namespace's name. */
export function objectFor(template, namespace) {
  const object = fill(template, namespace);
  return { ...object, metadata: { ...object.metadata, namespace } };
}

function fill(value, namespace) {
  if (typeof value === "string") return value.replaceAll(PLACE, namespace);
  if (Array.isArray(value)) return value.map((item) => fill(item, namespace));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, fill(item, namespace)]));
}
