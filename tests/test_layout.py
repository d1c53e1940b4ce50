"""The shape of the repository: whose packages are imported, what they load, what the pins say."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("scheduler", "synopses", "sharing", "spark_jobs", "queries", "results", "hemiola")
WITHOUT_SPARK = ("queries", "synopses", "sharing", "scheduler", "results")

IMPORT_ALL = """
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
names = [package.__name__]
names += [module.name for module in pkgutil.walk_packages(package.__path__, package.__name__ + ".")]
for name in names:
    importlib.import_module(name)
loaded = {name.partition(".")[0] for name in sys.modules}
print(len(names), *sorted(loaded & {"pyspark", "py4j", "pandas"}))
"""


@pytest.mark.parametrize("package", PACKAGES)
def test_package_is_ours(package: str) -> None:
    """`scheduler` and `sharing` are also names of distributions on the package index."""
    file = importlib.import_module(package).__file__
    assert file is not None
    assert Path(file).resolve() == ROOT / package / "__init__.py"


@pytest.mark.parametrize("package", WITHOUT_SPARK)
def test_importing_all_of_it_does_not_load_spark(package: str) -> None:
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL, package], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    imported, *loaded = done.stdout.split()
    assert loaded == []
    assert int(imported) >= len(list((ROOT / package).glob("*.py")))


@pytest.mark.parametrize("file", ["pyproject.toml", "constraints.txt"])
def test_pins_name_no_place(file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    assert not re.search(r"\w+://|file:|@ |--index|--find-links", text)


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(name for extra in project["optional-dependencies"].values() for name in extra),
    ]
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [re.fullmatch(r"([A-Za-z0-9._-]+)==[\w.+!]+", line) for line in lines]
    pinned = {_normal(pin.group(1)) for pin in pins if pin}
    assert len(pinned) == len(lines), "each line of constraints.txt is name==version, once"
    assert {_normal(re.split(r"[^A-Za-z0-9._-]", name)[0]) for name in wanted} <= pinned


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
