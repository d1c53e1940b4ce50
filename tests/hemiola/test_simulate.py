"""``hemiola simulate`` and admission: figures that can be counted, pictures that parse, refusals that help."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from hemiola.admitting import check_admission
from hemiola.cli import app
from hemiola.costs import known_cost
from hemiola.simulating import SIX, simulate_config
from queries.config import load_config
from queries.errors import InputError
from queries.language import parse_query
from queries.model import Config, Query
from results import open_store
from results.store import Refresh, StreamProgress, Update
from scheduler.engine import members_of
from scheduler.tasks import subgroups
from sharing.plan import plan_stream

CONFIG = """
streams:
  packets:
    source: {{format: parquet, path: data}}
    schema: ts TIMESTAMP, src STRING, length BIGINT
    time: ts
    interval: 1s
queries:
  - {{name: two, sql: "SELECT src, MAX(length) AS m FROM packets [WINDOW 10 s SLIDE 2 s] GROUP BY src"}}
  - {{name: three, sql: "SELECT src, MAX(length) AS m FROM packets [WINDOW 15 s SLIDE 3 s] GROUP BY src"}}
  - {{name: five, sql: "SELECT src, MAX(length) AS m FROM packets [WINDOW 30 s SLIDE 5 s] GROUP BY src"}}
scheduler: {{policy: conservative, sharing: "off", admission: {admission}}}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    config = tmp_path / "simulated.yaml"
    config.write_text(CONFIG.format(admission="warn"))
    return config


def measured(config: Config, milliseconds: float) -> None:
    """Results of an earlier run in which every execution took as long."""
    with open_store(config.results) as store:
        store.register(config.queries, 0)
        for end in range(1, 31):
            due = [query for query in config.queries if end * 1_000_000 % query.slide == 0]
            names = sorted(query.name for query in due)
            refreshes = tuple(
                Refresh(
                    query.name,
                    end * 1_000_000 - query.window,
                    end * 1_000_000,
                    True,
                    _no_rows(query),
                    "task",
                    0,
                    0,
                    milliseconds / len(due),
                    shared_with=tuple(name for name in names if name != query.name),
                )
                for query in due
            )
            store.commit(Update(StreamProgress("packets", 1_000_000, end * 1_000_000), refreshes))


def _no_rows(query: Query):  # type: ignore[no-untyped-def]
    import pyarrow as pa

    return pa.table({"src": pa.array([], pa.string()), "m": pa.array([], pa.int64())})


def run(*arguments: object):  # type: ignore[no-untyped-def]
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=True)


def test_throughput_and_load_are_those_of_the_slides(path: Path) -> None:
    found = simulate_config(load_config(path), updates=300)
    (stream,) = found.streams
    (line,) = stream.lines
    assert line.policy == "conservative"
    assert line.throughput == pytest.approx(1 / 2 + 1 / 3 + 1 / 5)
    assert (line.latency, line.late) == (0, {})
    assert line.busy == pytest.approx(line.asked, rel=0.02)
    assert stream.executions == 0
    assert set(stream.queries) == {"two", "three", "five"}


def test_costs_are_the_measured_ones_where_there_are_any(path: Path) -> None:
    """Every execution took 200 ms; 22 of 30 updates have one: 0.7333 of them, 14.7% of the time."""
    config = load_config(path)
    measured(config, 200.0)
    (stream,) = simulate_config(config, updates=300).streams
    assert stream.executions == 22
    assert stream.lines[0].busy == pytest.approx(0.2 * 22 / 30, rel=0.05)
    (slow,) = simulate_config(config, updates=300, load=10).streams
    assert slow.lines[0].late
    assert slow.lines[0].busy == pytest.approx(1, abs=0.02)


def test_all_six_policies_and_late_pending_is_never_behind_hybrid(path: Path) -> None:
    config = load_config(path)
    measured(config, 900.0)
    (stream,) = simulate_config(config, "all", load=2, updates=300).streams
    lines = {line.policy: line for line in stream.lines}
    assert tuple(lines) == SIX
    assert lines["hybrid+late_pending"].latency <= lines["hybrid"].latency
    assert lines["none"].throughput < lines["hybrid+late_pending"].throughput


def test_the_command_prints_draws_and_grows(path: Path, tmp_path: Path) -> None:
    config = load_config(path)
    measured(config, 100.0)
    svg = tmp_path / "schedule.svg"
    shown = run("simulate", path, "--policy", "all", "--grow", "--svg", svg, "--updates", 40)
    assert shown.exit_code == 0, shown.output
    assert "measured on 22 executions" in shown.output
    assert "room for about" in shown.output
    drawn = ElementTree.fromstring(svg.read_text())
    titles = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text") if text.get("font-size") == "14"]
    assert [title.split(": ")[1].split(",")[0] for title in titles if title] == list(SIX)
    text = run("simulate", path, "--updates", 12)
    assert "packets by src/2  .  x  .  x" in text.output


def test_json_is_for_machines(path: Path) -> None:
    found = json.loads(run("simulate", path, "--json", "--grow", "--updates", 30).output)
    assert found["streams"][0]["policies"][0]["policy"] == "conservative"
    assert found["room"]["conservative"]["queries"] == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policy", "hybird"], "did you mean hybrid?"),
        (["--load", "0"], "it must be positive"),
        (["--updates", "0"], "it must be positive"),
    ],
)
def test_wrong_options_are_refused_with_a_remedy(path: Path, arguments: list[str], message: str) -> None:
    refused = run("simulate", path, *arguments)
    assert isinstance(refused.exception, InputError)
    assert message in str(refused.exception)


def test_simulating_loads_no_spark(path: Path) -> None:
    code = (
        "import sys; from hemiola.cli import app; "
        f"app(args=['simulate', {str(path)!r}, '--updates', '5'], standalone_mode=False); "
        "sys.exit('pyspark' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def newcomer(config: Config, slide: int) -> Query:
    sql = f"SELECT length % 7 AS k, MAX(length) AS m FROM packets [WINDOW 20 s SLIDE {slide} s] GROUP BY length % 7"
    return Query("newcomer", sql, parse_query("newcomer", sql, {"packets": config.streams[0].types}))


def test_admission_warns_refuses_or_keeps_silent(path: Path) -> None:
    config = load_config(path)
    measured(config, 900.0)
    (warning,) = check_admission(config, config.queries, [newcomer(config, 1)])
    assert "query newcomer: adds " in warning
    assert "would be late" in warning
    assert "SLIDE" in warning
    path.write_text(CONFIG.format(admission="refuse"))
    with pytest.raises(InputError, match="newcomer"):
        check_admission(load_config(path), config.queries, [newcomer(config, 1)])
    path.write_text(CONFIG.format(admission='"off"'))
    assert check_admission(load_config(path), config.queries, [newcomer(config, 1)]) == ()


def test_admission_is_silent_about_what_fits(path: Path) -> None:
    config = load_config(path)
    measured(config, 10.0)
    assert check_admission(config, config.queries, [newcomer(config, 1)]) == ()
    assert check_admission(config, (), config.queries) == ()


def test_executions_of_queries_that_are_gone_are_not_counted(path: Path) -> None:
    config = load_config(path)
    measured(config, 10.0)
    plan = plan_stream(config.streams[0], [query for query in config.queries if query.name != "three"])
    known = known_cost(plan, subgroups(members_of(plan)), config.results)
    assert known.executions == sum(1 for end in range(1, 31) if (end % 2 == 0 or end % 5 == 0) and end % 3 != 0)
