"""Which optional peers this checkout has; ``make peers`` installs them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

BYTEWAX, FLINK = "bytewax", "PyFlink"
FLINK_PYTHON = Path(__file__).parents[2] / ".venv-flink" / "bin" / "python"
"""PyFlink wants py4j 0.10.9.7, pyarrow < 21 and pandas < 2.3, PySpark and we want later ones: its own environment."""


def missing_peers() -> dict[str, str]:
    """The optional peers that are not there, and why."""
    missing = {}
    if find_spec("bytewax") is None:
        missing[BYTEWAX] = "not installed: make peers"
    if not FLINK_PYTHON.exists():
        missing[FLINK] = "its environment .venv-flink is not there: make peers"
    return missing
