"""Whatever stands in the file, ``load_config`` gives a Config or an ``InputError`` with places, nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from queries.config import load_config
from queries.errors import InputError

pytestmark = pytest.mark.slow

GOOD = """\
results: sqlite:///./var/results.db
streams:
  packets:
    source: {format: parquet, path: data/packets}
    schema: ts TIMESTAMP, src STRING, port INT, length BIGINT
    time: ts
    interval: 1s
queries:
  - name: top
    sql: >
      SELECT src, SUM(length) FILTER (WHERE port IN (80, 443)) AS bytes, COUNT(DISTINCT port) AS ports
      FROM packets [WINDOW 10 min SLIDE 2 min] WHERE src LIKE '10.%' AND NOT port = 22
      GROUP BY src HAVING COUNT(*) > 3 ORDER BY bytes / 60 DESC NULLS LAST, 1 LIMIT 10
  - name: spread
    window: 1 min
    sql: "SELECT QUANTILE(b, 0.9) AS q FROM (SELECT src, SUM(length) AS b FROM packets GROUP BY src)"
scheduler: {policy: hybrid, sharing: off}
"""
PIECES = st.sampled_from(
    [
        *"[]{}()'\"`*&!|>#:,-%;\n\t\\ \0é",
        *"SELECT FROM WHERE GROUP BY NULL CASE WHEN END AND OR NOT IN BETWEEN WINDOW SLIDE LIMIT 0 1 1e999 -1".split(),
        *"src SUM( COUNT( QUANTILE( MEDIAN( CAST( rand() *) DISTINCT OVER() INTERVAL [WINDOW ? :p @v -- /* 1".split(),
        *"name: sql: streams: include: null true ~ .inf 9999999999999999999999 <<: !!int &a *a ---".split(),
    ]
)


def outcome(text: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "c.yaml"
        path.write_text(text, encoding="utf-8", newline="")
        try:
            load_config(path)
        except InputError as error:
            assert error.problems
            lines = text.count("\n") + 2
            for problem in error.problems:
                place = re.search(r":(\d+):(\d+)$", problem.location)
                assert problem.message
                if place:
                    assert 1 <= int(place[1]) <= lines


@settings(max_examples=150)
@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=60))
@example("? [a]\n: b\n")
@example("streams: {1: 2, ~: 3}\nqueries: [[[]]]\n")
@example("[" * 3000)
@example("a: " * 50)
def test_any_text(text: str) -> None:
    outcome(text)


@settings(max_examples=400)
@given(
    st.lists(
        st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 12), st.lists(PIECES, max_size=3)),
        min_size=1,
        max_size=4,
    )
)
def test_a_good_config_with_bits_cut_out_and_put_in(edits: list[tuple[int, int, list[str]]]) -> None:
    text = GOOD
    for start, length, pieces in edits:
        text = text[:start] + " ".join(pieces) + text[start + length :]
    outcome(text)


def test_the_config_that_is_mutated_is_good() -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "c.yaml"
        path.write_text(GOOD, encoding="utf-8")
        assert [query.name for query in load_config(path).queries] == ["top", "spread"]
