"""JSON values: pointers, merge patch (RFC 7386), and server-side apply for one manager, where
lists are replaced whole. Changes what it is given in place.
"""

from __future__ import annotations

from typing import Any

#: Nothing is there; None is a JSON null.
ABSENT = object()


def at(value: Any, pointer: str) -> Any:
    """The value at an RFC 6901 pointer, or `ABSENT`."""
    if pointer and not pointer.startswith("/"):
        return ABSENT
    for token in _tokens(pointer):
        if isinstance(value, dict) and token in value:
            value = value[token]
        elif isinstance(value, list) and _is_index(token) and int(token) < len(value):
            value = value[int(token)]
        else:
            return ABSENT
    return value


def text_at(value: Any, pointer: str) -> str:
    """The string at a pointer; empty if there is none."""
    found = at(value, pointer)
    return found if isinstance(found, str) else ""


def put(root: dict[str, Any], pointer: str, value: Any) -> None:
    """Sets the value at a pointer, objects on the way made as needed."""
    *way, last = _tokens(pointer)
    place = root
    for token in way:
        if not isinstance(place.get(token), dict):
            place[token] = {}
        place = place[token]
    place[last] = value


def keep(value: Any, pointers: list[str]) -> Any:
    """Only what stands at the pointers; everything if there are none."""
    if not pointers:
        return value
    kept: dict[str, Any] = {}
    for pointer in pointers:
        found = at(value, pointer)
        if pointer and found is not ABSENT:
            put(kept, pointer, found)
    return kept


def merge_patch(live: Any, patch: Any) -> Any:
    """The live value with the patch: null removes."""
    if not isinstance(patch, dict):
        return patch
    merged = live if isinstance(live, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


def overlay(live: Any, applied: Any) -> Any:
    """The live value with what is applied; the rest stays."""
    if not isinstance(applied, dict):
        return applied
    merged = live if isinstance(live, dict) else {}
    for name, value in applied.items():
        merged[name] = overlay(merged.get(name), value)
    return merged


def prune(live: Any, before: Any, now: Any) -> None:
    """Removes what was applied before and is left out now."""
    if not (isinstance(live, dict) and isinstance(before, dict)):
        return
    for name, old in before.items():
        if not isinstance(now, dict) or name not in now:
            live.pop(name, None)
        elif name in live:
            prune(live[name], old, now[name])


def _tokens(pointer: str) -> list[str]:
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def _is_index(token: str) -> bool:
    return token == "0" or (token.isascii() and token.isdigit() and token[0] != "0")
