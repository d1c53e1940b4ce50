"""The worked example of the dissertation, as fixtures."""

from __future__ import annotations

import pytest

from scheduler.tasks import Member, SubGroup, subgroups

WINDOWS_AND_SLIDES = ((10, 2), (5, 2), (6, 2), (15, 3), (12, 3), (20, 5), (30, 5))


@pytest.fixture
def example() -> tuple[SubGroup, ...]:
    """Seven MAX queries on one basic interval synopsis (8.4.3): windows 10,5,6 | 15,12 | 20,30, slides 2 | 3 | 5."""
    return subgroups(
        Member(f"Q{number}", "G1", window, slide) for number, (window, slide) in enumerate(WINDOWS_AND_SLIDES, 1)
    )
