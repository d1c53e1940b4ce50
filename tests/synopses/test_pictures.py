"""The pictures of the catalogue are what the code draws."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from synopses.pictures import PICTURES

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", PICTURES)
def test_the_committed_picture_is_up_to_date_and_shown(name: str) -> None:
    drawn = PICTURES[name]()
    ElementTree.fromstring(drawn)
    assert (DOCS / "images" / name).read_text(encoding="utf-8") == drawn
    assert f"images/{name}" in (DOCS / "synopses.md").read_text(encoding="utf-8")
