"""The command line as a user meets it: exit codes, formats, help, and what never starts Spark."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from hemiola.cli import main
from queries.config import load_config
from results import Refresh, StreamProgress, Update, open_store

CONFIG = """
streams:
  packets:
    source: {format: parquet, path: data}
    schema: ts TIMESTAMP, src STRING, length BIGINT
    time: ts
queries:
  - name: by_src
    sql: SELECT src, SUM(length) AS bytes FROM packets [WINDOW 10 s SLIDE 2 s] GROUP BY src
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "first.yaml"
    path.write_text(CONFIG)
    return path


def run(capsys, *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return int(stopped.value.code or 0), captured.out, captured.err


def put_answers(config: Path) -> None:
    checked = load_config(config)
    rows = pa.table({"src": ["a", None], "bytes": pa.array([5, 2**70], pa.decimal256(75, 0))})
    refresh = Refresh("by_src", 0, 10_000_000, True, rows, "task", 10_000_000, 10_000_000, 1.0)
    with open_store(checked.results) as store:
        store.register(checked.queries, 0)
        store.commit(Update(StreamProgress("packets", 2_000_000, 10_000_000), (refresh,)))


def test_validate_says_what_it_found(config, capsys):
    code, out, _ = run(capsys, "validate", config)
    assert code == 0
    assert "1 stream, 1 query, all right" in out


def test_a_wrong_config_is_exit_code_2_with_place_and_suggestion(config, capsys):
    config.write_text(CONFIG.replace("SUM(length)", "SUM(lenght)"))
    code, out, err = run(capsys, "replay", config)
    assert (code, out) == (2, "")
    assert f"{config}:" in err and "query by_src" in err and "length" in err


def test_a_missing_config_is_exit_code_2(tmp_path, capsys):
    code, _, err = run(capsys, "validate", tmp_path / "absent.yaml")
    assert code == 2
    assert "absent.yaml" in err


def test_wrong_usage_is_exit_code_2(capsys):
    assert run(capsys, "replay")[0] == 2
    assert run(capsys, "no-such-command")[0] == 2


def test_replay_until_must_be_a_time(config, capsys):
    code, _, err = run(capsys, "replay", config, "--until", "tomorrow")
    assert code == 2
    assert "tomorrow" in err


def test_query_before_any_replay_is_a_run_time_failure_with_a_remedy(config, capsys):
    code, _, err = run(capsys, "query", config, "SELECT 1")
    assert code == 1
    assert "hemiola replay" in err


def test_query_prints_table_csv_and_json(config, capsys):
    put_answers(config)
    sql = "SELECT src, bytes FROM by_src ORDER BY src"
    table = run(capsys, "query", config, sql)[1]
    assert "NULL" in table and str(2**70) in table and "2 rows" in table
    rows = list(csv.reader(io.StringIO(run(capsys, "query", config, sql, "--format", "csv")[1])))
    assert rows == [["src", "bytes"], ["", str(2**70)], ["a", "5"]]
    objects = json.loads(run(capsys, "query", config, sql, "--format", "json")[1])
    assert objects == [{"src": None, "bytes": str(2**70)}, {"src": "a", "bytes": 5}]
    assert run(capsys, "query", config, sql, "--format", "xml")[0] == 2


@pytest.mark.parametrize(
    "sql", ["DELETE FROM by_src", "DROP TABLE by_src", "INSERT INTO by_src VALUES (1)", "UPDATE by_src SET bytes = 0"]
)
def test_query_cannot_write(config, capsys, sql):
    put_answers(config)
    code, _, err = run(capsys, "query", config, sql)
    assert code == 2
    assert err
    assert "2 rows" in run(capsys, "query", config, "SELECT * FROM by_src")[1]


def test_help_everywhere(capsys):
    for command in ("demo", "validate", "explain", "replay", "query"):
        code, out, _ = run(capsys, command, "--help")
        assert code == 0
        assert command in out
    assert run(capsys)[0] in (0, 2)


def test_explain_prints_text_and_json(config, capsys):
    assert "by_src" in run(capsys, "explain", config)[1]
    plan = json.loads(run(capsys, "explain", config, "--json")[1])
    assert plan["streams"][0]["stream"] == "packets"


def test_wrong_configs_and_explain_load_no_spark(config):
    """In a process of its own, so that what other tests loaded does not count."""
    config.write_text(CONFIG.replace("SUM(length)", "SUM(lenght)"))
    program = (
        "import sys\nfrom hemiola.cli import main\n"
        "try:\n    main(['replay', sys.argv[1]])\n"
        "except SystemExit as stopped:\n    assert stopped.code == 2, stopped.code\n"
        "assert 'pyspark' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program, str(config)], check=True, capture_output=True)


def test_a_synopsis_that_cannot_keep_the_aggregate_is_refused_at_its_place(config, capsys):
    config.write_text(CONFIG.replace("SUM(length)", "MAX(length)") + "    synopsis: running\n")
    for command in ("validate", "explain", "replay"):
        code, _, err = run(capsys, command, config)
        assert code == 2
        assert err.startswith(f"{config}:10:15: query by_src: MAX cannot be kept in a running synopsis")
        assert err.count("hint:") == 1


def test_a_picture_that_cannot_be_written_is_no_traceback(config, capsys, tmp_path):
    code, _, err = run(capsys, "explain", config, "--svg", tmp_path / "absent" / "plan.svg")
    assert code == 1
    assert "cannot be written" in err
