"""What all tests share: one real Spark session, and property tests that are the same in every run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

settings.register_profile("same", derandomize=True, deadline=None, database=None)
settings.register_profile("quick", derandomize=True, deadline=None, database=None, max_examples=15)
settings.register_profile("search", max_examples=2_000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A real session on two cores, started once, at the first test that asks for it."""
    from queries.model import SparkSettings
    from spark_jobs.session import spark_session

    with spark_session(SparkSettings(master="local[2]"), "hemiola tests") as session:
        yield session


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
