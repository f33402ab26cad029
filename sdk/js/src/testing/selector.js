/**
 * Label and field selectors, as far as tests need them: `a`, `!a`, `a=b`, `a==b`, `a!=b`,
 * `a in (b, c)`, `a notin (b, c)`, joined by commas.
 */
import { ApiError } from "../errors.js";

const NAME = "[^\\s!=(),]";
const TERM = new RegExp(
  `^(?:(?<absent>!)?(?<bare>${NAME}+)|` +
    `(?<key>${NAME}+)\\s*(?:(?<op>!=|==?)\\s*(?<value>${NAME}*)|(?<set>\\s(?:not)?in)\\s*\\((?<values>[^()]*)\\)))$`,
);

/** Do all terms match? `lookup` gives the value of a name. */
export function matches(selector, lookup) {
  return split(selector).every((term) => matchesTerm(term, lookup));
}

function split(selector) {
  return (selector.match(/[^,(]+(?:\([^)]*\))?/g) ?? []).map((term) => term.trim()).filter((term) => term !== "");
}

function matchesTerm(term, lookup) {
  const groups = TERM.exec(term)?.groups;
  if (groups === undefined) throw new ApiError("invalid", `selector: ${term}`);
  if (groups.bare !== undefined) return (lookup(groups.bare) !== undefined) === (groups.absent === undefined);
  const wanted = groups.op === undefined ? groups.values.split(",").map((value) => value.trim()) : [groups.value];
  const negated = groups.op === "!=" || groups.set?.trim() === "notin";
  return wanted.includes(lookup(groups.key)) !== negated;
}
