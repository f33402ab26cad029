/**
 * The answer of a command: one log line with a JSON text.
 */
import { log } from "@wharf-dev/sdk";

export function report(value) {
  log.info("result", { value: JSON.stringify(value ?? null) });
}
