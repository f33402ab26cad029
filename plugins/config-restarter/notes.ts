/**
 * The annotations that the plugin reads and writes: lists of ConfigMaps, and one note per ConfigMap.
 */
import { digest } from "./digest.ts";

const PREFIX = "config-restarter.wharf.dev/";
/** The part of an annotation's name behind the prefix may be so long. */
const MAX_NAME = 63;

/** The ConfigMaps in an annotation: `settings, features`. */
export function names(annotation: string | undefined): string[] {
  const all = (annotation ?? "").split(",").map((name) => name.trim());
  return all.filter((name) => name !== "");
}

/** The annotation that notes which content of a ConfigMap a Deployment has. One each, so that notes of two never collide. */
export function noteName(configMap: string): string {
  if (configMap.length <= MAX_NAME) return PREFIX + configMap;
  const end = `-${digest(configMap)}`;
  return PREFIX + configMap.slice(0, MAX_NAME - end.length) + end;
}
