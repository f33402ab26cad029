/**
 * Is a call running? While the component is built, the plugin's modules are evaluated and their
 * state is kept: then there is no host yet that could answer.
 */
let running = false;

/** From the first call of the host on. */
export function start() {
  running = true;
}

export function isRunning() {
  return running;
}

/** Refuses a use of the host from the top level of a module. */
export function requireHost(what) {
  if (running) return;
  throw new Error(
    `${what} at the top level of a module: that code runs once, while the component is built, and there is no host then; ` +
      "do it in a function that a handler calls",
  );
}
