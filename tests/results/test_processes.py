"""Several processes on one results database: a writer that is killed, readers beside it, a second writer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from queries.errors import RunError
from queries.types import Type
from results import open_store, read
from results.location import sqlite_path
from tests.results.committing_process import NAMES, rows_of
from tests.results.sample_answers import MINUTE, START, query, store_url

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


@contextmanager
def committing(url: str, *deadly: str) -> Iterator[subprocess.Popen[str]]:
    """A process that commits until the ``deadly`` statement, or without end; killed (SIGKILL) on leaving."""
    command = [sys.executable, "-m", "tests.results.committing_process", str(sqlite_path(url)), *deadly]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def told(process: subprocess.Popen[str], updates: int) -> int:
    assert process.stdout is not None
    return [int(process.stdout.readline()) for _ in range(updates)][-1]


def whole_updates(url: str) -> int:
    """Check that what can be read is updates 1..n, each with all its answers and its mark; n."""
    counts = " UNION ALL ".join(
        f"SELECT '{name}' AS name, bytes AS number, count(*) AS n FROM {name} GROUP BY bytes" for name in NAMES
    )
    both = read(
        url,
        f"SELECT name, number, n, (SELECT records FROM hemiola_streams), (SELECT count(*) FROM hemiola_refreshes)"
        f" FROM ({counts})",
    ).rows
    last, refreshes = both[0][3:]
    assert isinstance(last, int)
    found = {(name, number): n for name, number, n, *_ in both}
    expected = {(name, k): rows_of(k, i) for i, name in enumerate(NAMES) for k in range(1, last + 1)}
    assert found == {key: n for key, n in expected.items() if n}
    assert refreshes == last * len(NAMES)
    return last


@pytest.mark.parametrize("statement", ['INSERT INTO "third"', "INSERT INTO hemiola_streams", "COMMIT"])
def test_an_update_in_which_the_writer_died_never_happened(tmp_path: Path, statement: str) -> None:
    url = store_url(tmp_path)
    with committing(url, statement) as process:
        told(process, 3)
        assert process.stdout is not None
        assert process.stdout.readline() == ""
        assert process.wait() == -signal.SIGKILL
    assert whole_updates(url) == 3


def test_a_killed_writer_leaves_whole_updates_and_no_lock(tmp_path: Path) -> None:
    url = store_url(tmp_path)
    with committing(url) as process:
        said = told(process, 50)
    last = whole_updates(url)
    assert last >= said
    with open_store(url) as store:
        store.register([query(name, keys={"src": Type.INT}) for name in NAMES], START)
        mark = store.progress("packets")
        assert mark is not None
        assert mark.updated_until == START + last * MINUTE
        assert store.done("first").tolist() == [START + k * MINUTE for k in range(1, last + 1)]


def test_readers_see_whole_updates_while_another_process_writes(tmp_path: Path) -> None:
    url = store_url(tmp_path)
    with committing(url) as process:
        seen = []
        for _ in range(10):
            said = told(process, 3)
            seen.append(whole_updates(url))
            assert seen[-1] >= said
        assert process.poll() is None
    assert seen == sorted(seen)
    assert seen[-1] > seen[0]


def test_a_second_writer_is_refused_by_name_until_the_first_is_gone(tmp_path: Path) -> None:
    url = store_url(tmp_path)
    with committing(url) as process:
        told(process, 1)
        with pytest.raises(RunError, match=f"written by another process \\(pid {process.pid}\\)"):
            open_store(url)
    open_store(url).close()
    first = open_store(url)
    (tmp_path / "link").symlink_to(tmp_path / "deep")
    with pytest.raises(RunError, match="another process"):
        open_store(f"sqlite:///{tmp_path}/link/results.db")
    first.close()
    open_store(url).close()
