"""A daemon that was off for ten slides: restore publishes all ten, no_restore only the newest; both right."""

from __future__ import annotations

import pytest

from tests.daemon.daemon_process import second
from tests.daemon.daemon_thread import ThreadDaemon
from tests.oracle.judge import Case, differences

pytestmark = pytest.mark.daemon

SQL = "SELECT src, SUM(length) AS bytes FROM packets [WINDOW 10 s SLIDE 3 s] GROUP BY src"
QUERIES = f"""
  - {{name: kept, semantics: restore, sql: '{SQL}'}}
  - {{name: newest, sql: '{SQL}'}}
"""


def test_after_ten_slides_of_down_time_restore_has_all_and_no_restore_the_newest(tmp_path, spark):
    """
    updates   |---- running ----| 21        off         51 |-- running
    kept      3  6  9 … 18 21    24 27 30 33 36 39 42 45 48 51    all, those missed marked as restored
    newest    …                                             51    the newest only
    """
    daemon = ThreadDaemon(tmp_path, QUERIES).use(spark)
    for number in range(21):
        daemon.feed(second(number))
    daemon.feed(second(21).slice(0, 1))
    daemon.start()
    daemon.wait_until_updated(21)
    daemon.wait("the answers", lambda: daemon.ends("kept")[-1:] == [21])
    assert daemon.stop() == 0
    before = daemon.ends("newest")

    daemon.feed(second(21).slice(1))
    for number in range(22, 51):
        daemon.feed(second(number))
    daemon.feed(second(51).slice(0, 1))
    daemon.start()
    daemon.wait("the newest answers", lambda: daemon.ends("newest")[-1:] == [51])
    assert daemon.stop() == 0

    assert daemon.ends("kept") == list(range(3, 52, 3))
    assert daemon.ends("newest") == [*before, 51]
    missed = daemon.rows("SELECT window_end, restored FROM kept GROUP BY 1 ORDER BY 1")[-10:]
    assert [restored for _, restored in missed] == [1] * 9 + [0]
    cases = [Case("kept", SQL), Case("newest", SQL)]
    assert differences(tmp_path / "results.db", daemon.raw(), cases) == []
