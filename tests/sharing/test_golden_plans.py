"""Golden plans: ``golden/*.yaml`` and what explain must say of each, in ``*.expected``: the plan, and why its first
and last query share or do not.

To add one, write the YAML (its first comment says what it shows) and run this file with ``GOLDEN=write``; then read
what was written.
"""

from __future__ import annotations

import os
import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from hemiola.explanation import explain_config, explain_pair
from hemiola.plan_text import show_plan, show_why
from queries.config import load_config

CASES = sorted((Path(__file__).parent / "golden").glob("*.yaml"))
SCHEMA = (
    "ts TIMESTAMP, src STRING, dst STRING, protocol STRING, usr STRING, port INT, length BIGINT, score DOUBLE, "
    "flag BOOLEAN"
)
HEADER = f"""streams:
  s: {{source: {{format: parquet, path: data}}, time: ts, interval: 1s, schema: "{SCHEMA}"}}
"""


def explained(case: Path, folder: Path, width: int = 100) -> str:
    config = folder / "case.yaml"
    config.write_text(HEADER + case.read_text())
    out = StringIO()
    console = Console(file=out, width=width, color_system=None)
    checked = load_config(config)
    show_plan(console, explain_config(checked))
    console.print()
    show_why(console, explain_pair(checked, checked.queries[0].name, checked.queries[-1].name))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_the_plan_is_as_expected(case, tmp_path):
    got = explained(case, tmp_path)
    expected = case.with_suffix(".expected")
    if os.environ.get("GOLDEN") == "write":
        expected.write_text(got)
    assert got == expected.read_text()


def test_every_rule_is_shown_to_apply_and_not_to():
    """File names begin with the rule; ``_not_`` marks the cases where it must not apply."""
    assert len(CASES) >= 15
    applied = {case.stem.split("_")[0] for case in CASES if "_not_" not in case.stem}
    refused = {case.stem.split("_")[0] for case in CASES if "_not_" in case.stem}
    rules = {"ss1", "ss2", "ss4", "cells", "rollup", "cs1", "cs2", "cs3", "cs6", "cs7", "cs8"}
    assert applied >= rules and refused >= rules


SAID = {
    "ss1": "yes  SS1",
    "ss2": "yes  SS2",
    "ss4": "SS4 (disjoint cover|cover|supercover minus cover) =",
    "cells": "s  cells",
    "rollup": "s  roll-up",
    "cs1": "yes  CS1",
    "cs2": "yes  CS2",
    "cs3": "yes  SS2/CS3.*merged once",
    "cs6": "yes  CS6/CS7",
    "cs7": "yes  CS6/CS7",
    "cs8": "yes  CS8",
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_the_rule_a_case_is_named_after_applies_unless_it_must_not(case):
    said = re.search(SAID[case.stem.split("_")[0]], case.with_suffix(".expected").read_text())
    assert (said is None) == ("_not_" in case.stem)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_it_fits_a_narrow_terminal(case, tmp_path):
    assert max(len(line) for line in explained(case, tmp_path, width=80).splitlines()) <= 80
