/**
 * Values on their way to the host and back. The component's runtime ends the instance, without a
 * word, over a string that is none or has half a surrogate pair, and over anything but a number or a
 * boolean where one belongs: so all of it is made fit here, or refused with a TypeError. And it hands
 * over numbers of 32 bits with a sign that they do not have.
 */

/** Any value as a string that UTF-8 can carry. */
export function text(value) {
  return String(value).toWellFormed();
}

/** A string that may be absent. */
export function maybeText(value) {
  return value == null ? undefined : text(value);
}

/** A list of strings. */
export function texts(values) {
  if (typeof values === "string")
    throw new TypeError(`a list of strings is needed, not the string ${JSON.stringify(values)}`);
  return Array.from(values, text);
}

/** A whole number of 32 bits, cut to what fits. The runtime takes only the signed form of it. */
export function u32(value) {
  const number = Number(value);
  if (Number.isNaN(number)) throw new TypeError(`a number is needed, not ${String(value)}`);
  return Math.min(Math.max(Math.trunc(number), 0), 0xffff_ffff) | 0;
}

/** One word of an enumeration of the contract. */
export function word(value, words) {
  if (!words.includes(value)) throw new TypeError(`${String(value)} is none of ${words.join(", ")}`);
  return value;
}

/** A whole number of 32 bits as the host meant it. */
export function unsigned(value) {
  return value >>> 0;
}
