/**
 * `console` as log lines: `error` and `assert` at level error, `warn`, `debug` and `trace` at their
 * own, everything else at info. One line per call.
 */
import * as host from "#host";
import { isRunning } from "../backend/state.js";
import { describeValue } from "../errors.js";
import { explainWithStack } from "./stack.js";

/** Lines from the top level of modules, which runs before there is a host: the first call logs them. */
const early = [];
const MAX_EARLY = 100;

export class Console {
  /** Writes what was said before the first call. */
  static flush() {
    for (const [level, values] of early.splice(0)) write(level, values);
  }

  log(...values) {
    write("info", values);
  }

  info(...values) {
    write("info", values);
  }

  dir(value) {
    write("info", [value]);
  }

  debug(...values) {
    write("debug", values);
  }

  trace(...values) {
    write("trace", values);
  }

  warn(...values) {
    write("warn", values);
  }

  error(...values) {
    write("error", values);
  }

  assert(condition, ...values) {
    if (!condition) write("error", ["assertion failed", ...values]);
  }
}

function write(level, values) {
  if (!isRunning()) {
    if (early.length < MAX_EARLY) early.push([level, values]);
  } else if (host.logEnabled(level)) {
    host.logEmit(level, format(values), []);
  }
}

/** The arguments with spaces between them; `%s`, `%d`, `%i`, `%f`, `%j`, `%o` and `%O` in the first are filled in. */
function format(values) {
  const [first, ...rest] = values;
  if (typeof first !== "string") return values.map(show).join(" ");
  const head = first.replace(/%[sdifjoO%]/g, (mark) => {
    if (mark === "%%") return "%";
    return rest.length === 0 ? mark : fill(mark, rest.shift());
  });
  return [head, ...rest.map(show)].join(" ");
}

function fill(mark, value) {
  if (mark === "%d" || mark === "%f") return String(Number(value));
  if (mark === "%i") return String(Math.trunc(Number(value)));
  return show(value);
}

function show(value) {
  return value instanceof Error ? explainWithStack(value) : describeValue(value);
}
