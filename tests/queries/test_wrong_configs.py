"""The corpus of wrong configs: each ``wrong/*.yaml`` gets exactly the error text in its ``*.expected``.

To add a case, write the YAML and run the tests with ``HEMIOLA_WRITE_EXPECTED=1``; then read what was written.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from queries.config import load_config
from queries.errors import InputError

FOLDER = Path(__file__).parent / "wrong"
CASES = sorted(path.stem for path in FOLDER.glob("*.yaml"))


@pytest.mark.parametrize("case", CASES)
def test_the_error_is_exactly_the_expected_one(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    with pytest.raises(InputError) as caught:
        load_config(f"{case}.yaml")
    expected = FOLDER / f"{case}.expected"
    if os.environ.get("HEMIOLA_WRITE_EXPECTED"):
        expected.write_text(f"{caught.value}\n", encoding="utf-8")
    assert f"{caught.value}\n" == expected.read_text(encoding="utf-8")


def test_no_expectation_is_left_over() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.expected")) == CASES
    assert len(CASES) >= 60
