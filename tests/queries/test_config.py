"""YAML to the model: defaults, paths, intervals, includes, and what may be written in several ways."""

from __future__ import annotations

from pathlib import Path

import pytest

from queries.config import load_config
from queries.errors import InputError
from queries.model import Column, Config, SchedulerSettings, Source, SparkSettings
from queries.types import Type

STREAMS = """\
streams:
  packets:
    source: {format: parquet, path: data/packets}
    schema: ts TIMESTAMP, src STRING, length LONG
    time: TS
"""
COUNTING = "SELECT COUNT(*) FROM packets [WINDOW {window} SLIDE {slide}]"


def load(folder: Path, text: str) -> Config:
    path = folder / "config.yaml"
    path.write_text(text, encoding="utf-8")
    return load_config(path)


def query(name: str, window: str = "10 min", slide: str = "2 min", more: str = "") -> str:
    return f"  - name: {name}\n    sql: {COUNTING.format(window=window, slide=slide)}\n{more}"


def test_defaults_and_paths(tmp_path: Path) -> None:
    config = load(tmp_path, f"{STREAMS}queries:\n{query('q')}")
    assert config.path == str(tmp_path / "config.yaml")
    assert config.state == str(tmp_path / "var/state")
    assert config.results == f"sqlite:///{tmp_path}/var/results.db"
    assert config.results.startswith("sqlite:////")
    assert (config.scheduler, config.spark) == (SchedulerSettings(), SparkSettings())
    stream = config.stream("packets")
    assert stream.source == Source("parquet", str(tmp_path / "data/packets"))
    assert stream.schema == (Column("ts", Type.TIMESTAMP), Column("src", Type.STRING), Column("length", Type.BIGINT))
    assert (stream.time, stream.lateness, stream.retain, stream.weight) == ("ts", 0, None, 1.0)
    assert config.query("q").semantics == "no_restore"


def test_every_key(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        """\
state: /abs/state
results: sqlite:////abs/results.db
results_keep: 7 days
streams:
  packets:
    source: {format: synthetic, options: {seed: 7, skew: 2.5, rate: 100, start: 2026-01-01T00:00:00Z}}
    interval: 1s
    lateness: 0s
    retain: 10m
    weight: 2
    idle_timeout: 5 min
queries:
  - name: q
    sql: SELECT COUNT(*) FROM packets
    window: 10m
    slide: 2 min
    semantics: restore
    priority: -3
    until: 2027-01-01T00:00:00+01:00
    synopsis: basic_interval
    placement: driver
scheduler: {policy: aggressive, sharing: off, idle: refresh_early, admission: off}
spark: {master: "local[2]", conf: {spark.ui.enabled: false, spark.x: 1}}
""",
    )
    assert (config.state, config.results) == ("/abs/state", "sqlite:////abs/results.db")
    assert config.results_keep == 7 * 86_400_000_000
    stream = config.stream("packets")
    assert stream.source.options == (
        ("rate", "100"),
        ("seed", "7"),
        ("skew", "2.5"),
        ("start", "2026-01-01T00:00:00Z"),
    )
    assert (stream.time, len(stream.schema)) == ("ts", 6)
    assert (stream.interval, stream.lateness, stream.retain) == (1_000_000, 0, 600_000_000)
    assert (stream.weight, stream.idle_timeout) == (2.0, 300_000_000)
    registered = config.query("q")
    assert (registered.window, registered.slide) == (600_000_000, 120_000_000)
    assert (registered.semantics, registered.priority) == ("restore", -3)
    assert registered.until == 1_798_758_000_000_000
    assert (registered.synopsis, registered.placement) == ("basic_interval", "driver")
    assert config.scheduler == SchedulerSettings("aggressive", "off", "refresh_early", "off")
    assert config.spark == SparkSettings("local[2]", (("spark.ui.enabled", "false"), ("spark.x", "1")))


def test_the_interval_is_the_gcd_of_windows_and_slides(tmp_path: Path) -> None:
    unused = "  idle:\n    source: {format: kafka, options: {topic: t}}\n    schema: ts TIMESTAMP\n    time: ts\n"
    text = f"{STREAMS}{unused}queries:\n{query('a', '10 min', '4 min')}{query('b', '90 s', '90 s')}"
    config = load(tmp_path, text)
    assert config.stream("packets").interval == 30_000_000
    assert config.stream("idle").interval == 1_000_000
    assert [registered.name for registered in config.queries_on("packets")] == ["a", "b"]


def test_urls_stay_as_they_are(tmp_path: Path) -> None:
    text = STREAMS.replace("data/packets", "s3a://bucket/packets") + f"queries:\n{query('q')}"
    assert load(tmp_path, text).stream("packets").source.path == "s3a://bucket/packets"


@pytest.mark.parametrize("written", ["queries:\n  - include: more/*.yaml\n", "queries: {include: more/*.yaml}\n"])
def test_includes(tmp_path: Path, written: str) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more/a.yaml").write_text(query("a").replace("\n  ", "\n").strip(" "), encoding="utf-8")
    (tmp_path / "more/b.yaml").write_text(f"queries:\n{query('b')}  - include: deeper/c.yaml\n", encoding="utf-8")
    (tmp_path / "more/deeper").mkdir()
    (tmp_path / "more/deeper/c.yaml").write_text(f"queries:\n{query('c')}", encoding="utf-8")
    config = load(tmp_path, f"{STREAMS}{written}")
    assert [registered.name for registered in config.queries] == ["a", "b", "c"]


def test_an_error_in_an_included_file_names_that_file(tmp_path: Path) -> None:
    (tmp_path / "more.yaml").write_text(query("a").replace("packets", "packet"), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load(tmp_path, f"{STREAMS}queries: {{include: more.yaml}}\n")
    assert [problem.location for problem in caught.value.problems] == [f"{tmp_path}/more.yaml:2:31"]


@pytest.mark.parametrize(
    "scalar",
    [
        "SELECT COUNT(*) FROM packets [WINDOW 1 min] WHERE nope = 1",
        "'SELECT COUNT(*) FROM packets [WINDOW 1 min] WHERE src = ''a'' AND nope = 1'",
        '"SELECT COUNT(*) FROM packets [WINDOW 1 min] WHERE src = \\"a\\" AND nope = 1"',
        ">\n      SELECT COUNT(*)\n      FROM packets [WINDOW 1 min]\n      WHERE nope = 1",
        "|+ # kept\n       SELECT COUNT(*)\n\n         FROM packets [WINDOW 1 min]\n       WHERE\n        nope = 1\n\n",
        "SELECT COUNT(*) FROM\n      packets [WINDOW 1 min]\n\n      WHERE nope = 1",
    ],
)
def test_places_inside_sql_are_places_in_the_file(tmp_path: Path, scalar: str) -> None:
    text = f"{STREAMS}queries:\n  - name: q\n    sql: {scalar}\n"
    with pytest.raises(InputError) as caught:
        load(tmp_path, text)
    (problem,) = caught.value.problems
    line = text[: text.index("nope")].count("\n") + 1
    column = text.index("nope") - text.rindex("\n", 0, text.index("nope"))
    assert problem.location == f"{tmp_path}/config.yaml:{line}:{column}"


def test_what_is_no_file(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "none.yaml", "there is no such file"), (tmp_path, "this is a folder, not a file")):
        with pytest.raises(InputError) as caught:
            load_config(path)
        assert str(caught.value) == f"{path}: {reason}"
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe9\n")
    with pytest.raises(InputError, match="this is not UTF-8 text"):
        load_config(tmp_path / "latin.yaml")


def test_windows_line_ends(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_bytes(f"\ufeff{STREAMS}queries:\n{query('q')}".replace("\n", "\r\n").encode())
    assert [registered.name for registered in load_config(tmp_path / "c.yaml").queries] == ["q"]
