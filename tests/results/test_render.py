"""Results as text: what a program reads back is what was stored."""

from __future__ import annotations

import csv
import io
import json

from results import ReadResult, render

RESULT = ReadResult(
    ("src", "bytes", "share"),
    [("a,b", 1, 0.5), ('say "x"', 2**62, float("inf")), ("", None, float("-inf")), (None, 7, float("nan"))],
)


def test_csv_tells_null_from_the_empty_string() -> None:
    text = render(RESULT, "csv")
    assert text == ('src,bytes,share\n"a,b",1,0.5\n"say ""x""",4611686018427387904,inf\n"",,-inf\n,7,nan\n')
    assert [row[0] for row in csv.reader(io.StringIO(text))] == ["src", "a,b", 'say "x"', "", ""]


def test_csv_keeps_lines_and_bytes() -> None:
    text = render(ReadResult(("x", "y"), [("two\nlines", b"\x01\xff"), (" padded", 1)]), "csv")
    assert list(csv.reader(io.StringIO(text))) == [["x", "y"], ["two\nlines", "01ff"], [" padded", "1"]]


def test_json_is_strict_and_keeps_null() -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert json.loads(render(RESULT, "json"), parse_constant=refuse) == [
        {"src": "a,b", "bytes": 1, "share": 0.5},
        {"src": 'say "x"', "bytes": 2**62, "share": "Infinity"},
        {"src": "", "bytes": None, "share": "-Infinity"},
        {"src": None, "bytes": 7, "share": None},
    ]
    assert json.loads(render(ReadResult(("x",), []), "json")) == []


def test_json_loses_no_column_of_the_same_name() -> None:
    text = render(ReadResult(("a", "a", "a_2", "a"), [(1, 2, 3, 4)]), "json")
    assert json.loads(text) == [{"a": 1, "a_3": 2, "a_2": 3, "a_4": 4}]


def test_the_table_shows_null_and_aligns_numbers() -> None:
    rows: list[tuple[str | None, int]] = [("alpha", 1), (None, 1000)]
    lines = render(ReadResult(("src", "bytes"), list(rows))).splitlines()
    assert [line.rstrip() for line in lines] == [
        "src     bytes",
        "─────────────",
        "alpha       1",
        "NULL     1000",
        "2 rows",
    ]  # fmt: skip


def test_the_table_never_shortens_a_value_and_sends_no_control_codes() -> None:
    long = "x" * 300
    text = render(ReadResult(("v",), [(long,), ("\x1b[31mred [bold]\n",)]))
    assert long in text
    assert "\x1b" not in text
    assert r"\x1b[31mred [bold]\n" in text
    narrow = render(ReadResult(("v",), [(long,)]), width=40)
    assert max(map(len, narrow.splitlines())) <= 40
    assert narrow.count("x") == 300
