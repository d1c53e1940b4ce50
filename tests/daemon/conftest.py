"""Tests of the daemon: those that run a real one, with Spark of its own, count as ``spark`` tests."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "crash: kills a real daemon again and again (long form: `make crash`)")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name == "daemon" and "Daemon" in getattr(item.module, "__dict__", {}):
            item.add_marker(pytest.mark.spark)
