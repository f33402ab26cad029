/**
 * Something that the plugin's author can put right: shown without a stack.
 */
export class BuildError extends Error {}
