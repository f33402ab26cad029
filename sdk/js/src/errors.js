/**
 * The errors of this package, and which failure an error becomes that leaves a handler. Knows no
 * stacks: the component adds them.
 */
import { Failure } from "./outcome.js";

/** The reasons that `failureOf` uses; every description lists them. */
export const SDK_REASONS = [
  "ConfigInvalid",
  "ObjectInvalid",
  "GrantMissing",
  "Forbidden",
  "Conflict",
  "ServerUnavailable",
  "ApiError",
  "HandlerError",
];

const API_REASONS = {
  "not-granted": "GrantMissing",
  forbidden: "Forbidden",
  conflict: "Conflict",
  throttled: "ServerUnavailable",
  unavailable: "ServerUnavailable",
};

/** A part of the object does not have the asked for type. */
export class ReadError extends Error {
  constructor(pointer, problem) {
    super(`${pointer === "" ? "the object" : pointer} cannot be read: ${problem}`);
    this.name = "ReadError";
    this.pointer = pointer;
  }
}

/** The configuration does not fit: all that is wrong with it. */
export class ConfigError extends Error {
  constructor(problems) {
    super(problems.join("; "));
    this.name = "ConfigError";
    this.problems = problems;
  }
}

/** Why a use of the cluster failed. `code` is one of the contract's words. */
export class ApiError extends Error {
  constructor(code, text = undefined, retryAfterMs = undefined) {
    super(apiMessage(code, text, retryAfterMs));
    this.name = "ApiError";
    this.code = code;
    this.text = text;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The failure that an error stands for; of any other value a retry with reason `HandlerError`. */
export function failureOf(error, explain = explainError) {
  if (error instanceof Failure) return error;
  if (error instanceof ReadError) return Failure.permanent("ObjectInvalid", error.message, { cause: error });
  if (error instanceof ConfigError) return Failure.permanent("ConfigInvalid", error.message, { cause: error });
  if (error instanceof ApiError) {
    const failure = Failure.retry(API_REASONS[error.code] ?? "ApiError", error.message, { cause: error });
    return error.retryAfterMs === undefined ? failure : failure.after(error.retryAfterMs);
  }
  return Failure.retry("HandlerError", explain(error), { cause: error });
}

/** The text of anything that can be thrown. */
export function explainError(error) {
  if (!(error instanceof Error)) return describeValue(error);
  return error.name === "Error" ? error.message : `${error.name}: ${error.message}`;
}

/** A value in a sentence. */
export function describeValue(value) {
  if (typeof value !== "object") return String(value);
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    // Cyclic, a BigInt inside, or a toJSON that throws.
    return Object.prototype.toString.call(value);
  }
}

function apiMessage(code, text, retryAfterMs) {
  const words = code.replaceAll("-", " ");
  if (text !== undefined) return `${words}: ${text}`;
  return retryAfterMs === undefined ? words : `${words}: try again after ${retryAfterMs} ms`;
}
