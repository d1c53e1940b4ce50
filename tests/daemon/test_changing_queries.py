"""Queries that come and go while the daemon runs: right answers for all, nobody late because of it."""

from __future__ import annotations

import json
import random
import threading
from datetime import datetime
from pathlib import Path

import pytest

from hemiola import InputError, RunError, validate
from hemiola.control import request
from hemiola.running import Daemon as Running
from hemiola.state_folder import socket_path
from tests.daemon.daemon_process import second
from tests.daemon.daemon_thread import ThreadDaemon
from tests.oracle.judge import Case, differences

pytestmark = pytest.mark.daemon

STEADY = {
    "steady_sum": "SELECT src, SUM(length) AS bytes FROM packets [WINDOW 10 s SLIDE 1 s] GROUP BY src",
    "steady_count": "SELECT COUNT(*) AS n FROM packets [WINDOW 5 s SLIDE 2 s]",
}
SHAPES = (
    "SELECT src, SUM(length) AS bytes FROM packets [WINDOW {w} s SLIDE {p} s] GROUP BY src",
    "SELECT src, MIN(length) AS low, MAX(length) AS high FROM packets [WINDOW {w} s SLIDE {p} s] GROUP BY src",
    "SELECT COUNT(*) AS n, AVG(length) AS mean FROM packets [WINDOW {w} s SLIDE {p} s]",
    "SELECT length % 10 AS digit, COUNT(DISTINCT src) AS sources FROM packets [WINDOW {w} s SLIDE {p} s] "
    "GROUP BY length % 10",
    "SELECT SUM(length) AS bytes FROM packets [WINDOW {w} s SLIDE {p} s] WHERE src = 's{v}'",
    "SELECT MAX(length) AS high FROM packets [WINDOW {w} s SLIDE {p} s] WHERE length < {v}00",
)


def made(name: str, sql: str) -> str:
    return json.dumps({"queries": [{"name": name, "sql": sql}]})


def ask(daemon: ThreadDaemon, command: str, **arguments: object) -> object:
    return request(socket_path(str(daemon.folder / "state")), command, **arguments)


def register(daemon: ThreadDaemon, name: str, sql: str) -> None:
    path = Path(daemon.folder / f"{name}.yaml")
    path.write_text(made(name, sql))
    ask(daemon, "register", paths=[str(path)])


def ends_of(states: list[tuple[str, int]]) -> list[datetime]:
    """The window ends that are said to be complete."""
    return [datetime.fromisoformat(end).replace(tzinfo=None) for end, complete in states if complete]


@pytest.fixture
def daemon(tmp_path, spark):
    queries = "".join(f"  - {{name: {name}, sql: '{sql}'}}\n" for name, sql in STEADY.items())
    return ThreadDaemon(tmp_path, queries, other="retain: 1h").use(spark)


def test_fifty_queries_come_and_go_at_random(daemon, record_property):
    chance = random.Random(3)
    fed, done = 0, threading.Event()

    def feed() -> None:
        nonlocal fed
        while not done.wait(0.5):
            daemon.feed(second(fed, 40))
            fed += 1

    for _ in range(40):
        daemon.feed(second(fed, 40))
        fed += 1
    daemon.start()
    daemon.wait_until_updated(39)
    answer = ask(daemon, "ask", sql=next(iter(STEADY.values())))
    assert isinstance(answer, dict) and answer["rows"]
    feeder = threading.Thread(target=feed, daemon=True)
    feeder.start()
    live: dict[str, str] = {}
    registered_at: dict[str, int] = {}
    everything = dict(STEADY)
    for number in range(50):
        if live and chance.random() < 0.3:
            gone = chance.choice(sorted(live))
            ask(daemon, "deregister", names=[gone])
            del live[gone]
        name = f"q{number}"
        slide = chance.choice([1, 2, 3])
        sql = chance.choice(SHAPES).format(w=slide * chance.randint(1, 8), p=slide, v=chance.randrange(1, 9))
        registered_at[name] = daemon.updated_until()
        register(daemon, name, sql)
        done.wait(0.2)
        live[name] = everything[name] = sql
        listed = {line["query"]: line["state"] for line in daemon.status()["queries"]}
        assert set(listed) == set(STEADY) | set(live)
        assert set(listed.values()) <= {"active", "backfilling"}
    daemon.wait("all to be active", lambda: {q["state"] for q in daemon.status()["queries"]} == {"active"})
    settled = daemon.updated_until()
    daemon.wait("answers of all", lambda: all(daemon.ends(name)[-1:] > [settled] for name in live))
    assert not any(daemon.status_of(name)["last_error"] for name in live)
    status = daemon.status()
    assert status["error"] is None and status["streams"][0]["error"] is None
    done.set()
    feeder.join()
    assert daemon.stop() == 0

    cases = [Case(name, sql) for name, sql in everything.items()]
    assert differences(daemon.folder / "results.db", daemon.raw(), cases) == []
    for name in everything.keys() - STEADY.keys():
        assert daemon.rows(f"SELECT count(*) FROM {name} WHERE NOT complete") == [(0,)]
    kept_up = daemon.ends("steady_sum")[2:]
    record_property("window ends of a steady query skipped", kept_up[-1] - kept_up[0] + 1 - len(kept_up))


def test_a_batch_on_its_way_while_a_query_is_registered_is_in_its_answers(daemon, monkeypatch):
    """The batch is durable, without what the new query needs, and reaches the engine after the query does."""
    held: list[object] = []
    holding = threading.Event()
    delivered = Running._delivered

    def hold(self: Running, name: str, stored: object) -> None:
        if holding.is_set():
            held.append(stored)
        else:
            delivered(self, name, stored)

    monkeypatch.setattr(Running, "_delivered", hold)
    for number in range(20):
        daemon.feed(second(number))
    daemon.start()
    daemon.wait_until_updated(19)
    holding.set()
    daemon.feed(second(20))
    daemon.wait("a batch on its way", lambda: held)
    sql = "SELECT length % 3 AS r, COUNT(*) AS n FROM packets [WINDOW 6 s SLIDE 1 s] GROUP BY length % 3"
    register(daemon, "new", sql)
    runtime = daemon.running.runtimes["packets"]
    daemon.wait("its history", lambda: runtime._gathered is not None or runtime.gathering is None)
    holding.clear()
    for stored in held:
        daemon.running._calls.put(lambda stored=stored: delivered(daemon.running, "packets", stored))
    daemon.wait("it to be active", lambda: daemon.status_of("new")["state"] == "active")
    for number in (21, 22, 23):
        daemon.feed(second(number))
        daemon.wait("its answer", lambda number=number: daemon.ends("new")[-1:] == [number])
    assert daemon.stop() == 0
    assert differences(daemon.folder / "results.db", daemon.raw(), [Case("new", sql)]) == []


def test_a_query_with_nothing_to_reach_back_to_is_incomplete_until_it_is(tmp_path, spark):
    queries = "".join(f"  - {{name: {name}, sql: '{sql}'}}\n" for name, sql in STEADY.items())
    daemon = ThreadDaemon(tmp_path, queries, lateness="3s", other="retain: 2s").use(spark)
    daemon.limit_files(6)
    for number in range(60):
        daemon.feed(second(number))
    daemon.start()
    daemon.wait_until_updated(56)
    daemon.running._calls.put(daemon.running._keep_house)
    register(daemon, "longer", "SELECT src, MAX(length) AS high FROM packets [WINDOW 20 s SLIDE 1 s] GROUP BY src")
    daemon.wait("it to be active", lambda: daemon.status_of("longer")["state"] == "active")
    for number in range(60, 90):
        daemon.feed(second(number))
    daemon.wait("all of it", lambda: daemon.ends("longer")[-1:] == [86])
    assert daemon.stop() == 0
    states = daemon.rows("SELECT DISTINCT window_end, complete FROM longer ORDER BY 1")
    complete = [value for _, value in states]
    assert complete[0] == 0 and complete[-1] == 1 and complete == sorted(complete)
    case = Case("longer", "SELECT src, MAX(length) AS high FROM packets [WINDOW 20 s SLIDE 1 s] GROUP BY src")
    assert differences(daemon.folder / "results.db", daemon.raw(), [case], ends_of(states)) == []


def test_what_is_wrong_changes_nothing(daemon):
    daemon.feed(second(0))
    daemon.start()
    daemon.wait("it to read", lambda: daemon.status()["streams"][0]["records"] == 20)
    with pytest.raises(InputError, match="srk"):
        register(daemon, "wrong", "SELECT srk, COUNT(*) AS n FROM packets [WINDOW 5 s] GROUP BY srk")
    with pytest.raises(InputError, match="registered already"):
        register(daemon, "steady_sum", STEADY["steady_sum"])
    with pytest.raises(InputError, match="multiple"):
        register(daemon, "uneven", "SELECT COUNT(*) AS n FROM packets [WINDOW 1500 ms]")
    with pytest.raises(InputError, match="steady_sum"):
        ask(daemon, "deregister", names=["steady_sun"])
    with pytest.raises(RunError, match="another daemon"):
        Running(validate(daemon.config))
    assert [line["query"] for line in daemon.status()["queries"]] == list(STEADY)
    assert daemon.stop() == 0


def test_an_edited_config_is_taken_over_whole_and_changes_survive_a_restart(daemon):
    for number in range(12):
        daemon.feed(second(number))
    daemon.start()
    daemon.wait_until_updated(11)
    added = "SELECT src, COUNT(*) AS n FROM packets [WINDOW 4 s SLIDE 1 s] GROUP BY src"
    edited = "SELECT MAX(length) AS high FROM packets [WINDOW 6 s SLIDE 1 s]"
    register(daemon, "added", added)
    text = daemon.config.read_text()
    daemon.config.write_text(text + f"  - {{name: edited, sql: '{edited}'}}\n  - {{name: bad, sql: 'SELECT'}}\n")
    with pytest.raises(InputError, match="bad"):
        ask(daemon, "reload")
    assert [line["query"] for line in daemon.status()["queries"]] == [*STEADY, "added"]
    daemon.config.write_text(text + f"  - {{name: edited, sql: '{edited}'}}\n")
    ask(daemon, "reload")
    ask(daemon, "deregister", names=["steady_count"])
    assert [line["query"] for line in daemon.status()["queries"]] == ["steady_sum", "edited", "added"]
    daemon.feed(second(12))
    assert daemon.stop() == 0

    daemon.feed(second(13))
    daemon.start()
    assert [line["query"] for line in daemon.status()["queries"]] == ["steady_sum", "edited", "added"]
    daemon.wait("answers of all", lambda: all(daemon.ends(name)[-1:] == [13] for name in ("edited", "added")))
    assert daemon.stop() == 0
    cases = [Case("edited", edited), Case("added", added), Case("steady_sum", STEADY["steady_sum"])]
    assert differences(daemon.folder / "results.db", daemon.raw(), cases) == []
    assert daemon.rows("SELECT count(*) > 0 FROM steady_count") == [(1,)]
