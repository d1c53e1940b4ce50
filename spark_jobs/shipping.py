"""Hemiola's own packages as one archive, for workers on machines where they are not installed.

``python -m spark_jobs.shipping FILE.zip`` writes it for ``spark-submit --py-files``.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

PACKAGES = ("scheduler", "synopses", "sharing", "spark_jobs", "queries", "results", "hemiola")
ARCHIVE = "hemiola.zip"


def write_archive(path: Path) -> None:
    """The packages as this process imports them, with the files that lie beside their modules."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for package in PACKAGES:
            spec = find_spec(package)
            assert spec is not None and spec.origin is not None
            folder = Path(spec.origin).parent
            for file in sorted(folder.rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    archive.write(file, f"{package}/{file.relative_to(folder).as_posix()}")


if __name__ == "__main__":
    write_archive(Path(sys.argv[1]))
