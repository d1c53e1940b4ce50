"""What is set on which master, and what is sent to its workers."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest

from queries.errors import RunError
from queries.model import SparkSettings
from spark_jobs.session import configuration
from spark_jobs.shipping import PACKAGES, write_archive

ROOT = Path(__file__).resolve().parents[2]
HOST, ZONE, PARTITIONS = "spark.driver.host", "spark.sql.session.timeZone", "spark.sql.shuffle.partitions"


@pytest.mark.parametrize("master", ["local[*]", "spark://127.0.0.1:7077", "spark://localhost:7077"])
def test_a_driver_with_all_its_workers_on_this_machine_is_at_the_loopback_address(master):
    assert configuration(SparkSettings(), master, {})[HOST] == "127.0.0.1"


@pytest.mark.parametrize(
    "master", ["spark://head:7077", "yarn", "k8s://https://head:6443", "spark://127.0.0.1:1,head:1"]
)
def test_elsewhere_spark_finds_its_own_address_and_number_of_partitions(master):
    assert not {HOST, PARTITIONS} & configuration(SparkSettings(), master, {}).keys()


def test_the_config_wins_over_spark_submit_and_that_over_our_defaults():
    submitted = {"spark.ui.enabled": "true", "spark.x": "submitted", "spark.y": "submitted"}
    conf = configuration(SparkSettings(conf=(("spark.x", "config"),)), "yarn", submitted)
    assert (conf["spark.ui.enabled"], conf["spark.x"], conf["spark.y"]) == ("true", "config", "submitted")


def test_windows_are_cut_in_utc_whatever_spark_submit_says():
    with pytest.raises(RunError, match="Europe/Berlin"):
        configuration(SparkSettings(), "yarn", {ZONE: "Europe/Berlin"})


def test_the_archive_has_our_packages_and_nothing_else(tmp_path):
    write_archive(tmp_path / "new" / "hemiola.zip")
    with ZipFile(tmp_path / "new" / "hemiola.zip") as archive:
        names = set(archive.namelist())
    ours = {path.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob("*.*")}
    assert names == {name for name in ours if "__pycache__" not in name}
