/**
 * A short name of a content. Two contents with the same name are as likely as winning the lottery
 * twice; nobody gains from making them, so it need not be cryptographic.
 */

/** 53 bits in hexadecimal, by two rounds of multiplications that end mixed into each other. */
export function digest(text: string): string {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    high = Math.imul(high ^ unit, 0x9e3779b1);
    low = Math.imul(low ^ unit, 0x5f356495);
  }
  high = mix(high) ^ mix(low ^ 0x3d4d51cb);
  low = mix(low) ^ mix(high ^ 0x2545f491);
  return ((low >>> 11) * 0x1_0000_0000 + (high >>> 0)).toString(16).padStart(14, "0");
}

function mix(value: number): number {
  const once = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return twice ^ (twice >>> 16);
}
