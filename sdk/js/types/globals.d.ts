/**
 * Global names of a component that the library `es2024` of TypeScript lacks. For a plugin's
 * tsconfig.json: `"types": ["@wharf-dev/sdk/globals"]`. Not together with the types of Node.js or of
 * browsers, which have their own.
 */

/** Log lines: `log`, `info` and `dir` at level info, `assert` at error, the others at their own. */
declare const console: {
  log(...values: unknown[]): void;
  info(...values: unknown[]): void;
  debug(...values: unknown[]): void;
  trace(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
  dir(value: unknown): void;
  assert(condition: unknown, ...values: unknown[]): void;
};

declare function queueMicrotask(job: () => void): void;
declare function structuredClone<T>(value: T): T;
declare function atob(text: string): string;
declare function btoa(text: string): string;

declare const performance: {
  /** The host's clock, which has whole milliseconds. */
  now(): number;
  readonly timeOrigin: number;
};
