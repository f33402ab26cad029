"""Types that are read, and the mistakes that are named."""

import enum
import unittest
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from wharf_sdk._decode import Mismatch, decode, dotted, pointer


class Color(enum.Enum):
    RED = "red"


@dataclass(frozen=True)
class Tree:
    max_age: int
    children: "list[Tree]" = field(default_factory=list)
    other: str | None = field(default=None, metadata={"name": "odd-name"})


class DecodeTest(unittest.TestCase):
    def test_values_of_the_right_type(self) -> None:
        tree = Tree(1, [Tree(2)], "x")
        cases: list[tuple[Any, Any, Any]] = [
            ("a", str, "a"),
            (2**70, int, 2**70),
            (1, float, 1.0),
            (True, bool, True),
            ([1, 2], list[int], [1, 2]),
            ([1, "x"], list, [1, "x"]),
            ([1, 2], tuple[int, ...], (1, 2)),
            ([1, 2], Sequence[int], (1, 2)),
            ({"a": 1}, dict[str, int], {"a": 1}),
            ({"a": 1}, Mapping[str, int], {"a": 1}),
            (None, int | None, None),
            ("x", int | str, "x"),
            ("b", Literal["a", "b"], "b"),
            ("red", Color, Color.RED),
            ({"a": [None]}, Any, {"a": [None]}),
            ({"maxAge": 1, "children": [{"maxAge": 2}], "odd-name": "x", "more": 1}, Tree, tree),
        ]
        for value, wanted, result in cases:
            with self.subTest(value=value, wanted=wanted):
                read = decode(value, wanted)
                self.assertEqual((read, type(read)), (result, type(result)))

    def test_mistakes_are_named_with_their_place(self) -> None:
        cases: list[tuple[Any, Any, str]] = [
            (1, str, ": expected a string, found 1"),
            (True, int, ": expected an integer, found true"),
            (1.5, int, ": expected an integer, found 1.5"),
            (10**400, float, ": expected a number, found 1" + "0" * 59 + "…"),
            (0, bool, ": expected true or false, found 0"),
            ({}, list[int], ": expected a list, found an object"),
            (["a", 1], list[str], "/1: expected a string, found 1"),
            ({"a/b": 1}, dict[str, str], "/a~1b: expected a string, found 1"),
            (None, str, ": expected a string, found null"),
            ([], int | str, ": expected an integer, found a list"),
            (True, Literal[1], ": expected 1, found true"),
            ("blue", Color, ': expected "red", found "blue"'),
            ({"maxAge": 1, "children": [{"maxAge": "x"}]}, Tree, '/children/0/maxAge: expected an integer, found "x"'),
        ]
        for value, wanted, problem in cases:
            with self.subTest(value=value, wanted=wanted), self.assertRaises(Mismatch) as raised:
                decode(value, wanted)
            path, text = raised.exception.problems[0]
            self.assertEqual(f"{pointer(path)}: {text}", problem)

    def test_all_mistakes_come_together_and_strict_refuses_more(self) -> None:
        with self.assertRaises(Mismatch) as raised:
            decode({"children": [{"maxAge": "x"}], "maxage": 1}, Tree, strict=True)
        problems = [f"{dotted(path)}: {text}" for path, text in raised.exception.problems]
        self.assertEqual(
            problems,
            [
                "maxAge: missing",
                'children[0].maxAge: expected an integer, found "x"',
                "maxage: unknown field; known: maxAge, children, odd-name",
            ],
        )

    def test_a_type_that_json_has_not_is_an_error_of_the_program(self) -> None:
        for wanted in (set, tuple[int, str], dict[int, str], complex):
            with self.subTest(wanted=wanted), self.assertRaises(TypeError):
                decode(None, wanted)


if __name__ == "__main__":
    unittest.main()
