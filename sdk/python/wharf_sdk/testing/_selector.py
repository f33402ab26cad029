"""Label and field selectors, as far as tests need them: `a`, `!a`, `a=b`, `a==b`, `a!=b`,
`a in (b, c)`, `a notin (b, c)`, joined by commas.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ..errors import Invalid

#: Does the value of a label or field (None: absent) match?
Matches = Callable[[str | None], bool]

_TERM = re.compile(
    r"\s*(?:(?P<absent>!)\s*(?P<key0>[^\s,()=!]+)"
    r"|(?P<key1>[^\s,()=!]+)\s+(?P<set>in|notin)\s*\((?P<values>[^()]*)\)"
    r"|(?P<key2>[^\s,()=!]+)\s*(?:(?P<sign>==|=|!=)\s*(?P<value>[^\s,()=!]*))?)\s*(?:,|$)"
)


def parse(text: str) -> list[tuple[str, Matches]]:
    """The terms, all of which must match; none for empty text. Raises `Invalid`."""
    terms = []
    rest = text.strip()
    while rest:
        found = _TERM.match(rest)
        if found is None:
            raise Invalid(f"selector: {text}")
        terms.append(_term(found))
        rest = rest[found.end() :]
    return terms


def _term(found: re.Match[str]) -> tuple[str, Matches]:
    if found["absent"]:
        return found["key0"], lambda value: value is None
    if found["set"]:
        values = frozenset(value.strip() for value in found["values"].split(","))
        return found["key1"], _among(values, found["set"] == "in")
    if found["sign"]:
        return found["key2"], _among(frozenset([found["value"]]), found["sign"] != "!=")
    return found["key2"], lambda value: value is not None


def _among(values: frozenset[str], wanted: bool) -> Matches:
    return lambda value: (value in values) is wanted
