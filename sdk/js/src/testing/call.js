/**
 * One call to be made: the delivery that the host would hand over, and the mock's state during it.
 */
import { valueAt } from "../backend/mock.js";
import { reference } from "./cluster.js";

const OWN = new Set(["change", "object", "previous", "absent"]);

/** Makes the mock's state that of the call; the delivery. */
export function begin(state, options) {
  const { change, object, previous, absent = false } = options;
  const key = reference(object);
  const removal = options.removal ?? (change === "delete" ? "gone" : "none");
  if (change !== "delete") state.cluster.put(object);
  else if (removal === "gone") state.cluster.remove(key);
  state.revisions = absent ? {} : { current: plain(object), previous: plain(previous) };
  const overrides = Object.fromEntries(Object.entries(options).filter(([name]) => !OWN.has(name)));
  const delivery = {
    key,
    resourceVersion: valueAt(object, "/metadata/resourceVersion") ?? "",
    deleting: valueAt(object, "/metadata/deletionTimestamp") !== undefined,
    subscription: "main",
    removal,
    finalStateUnknown: false,
    cause: "watch",
    attempt: 1,
    queuedMs: 1,
    budgetMs: 10_000,
    size: absent ? 0 : JSON.stringify(object).length,
    traceparent: "",
    ...overrides,
  };
  state.remainingMs = delivery.budgetMs;
  return delivery;
}

/** As JSON would have it: no undefined members, nothing shared with the test. */
function plain(object) {
  return object === undefined ? undefined : JSON.parse(JSON.stringify(object));
}
