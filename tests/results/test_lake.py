"""Shelves of the lake, where tasks are run twice."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from results.lake import Lake

ROWS = pa.table({"src": ["a", "b"], "n": [1, 2]})


def shelf(folder):
    return Lake(str(folder)).shelf("q", 0, 10, True, 10, 0.0, False)


def in_place(folder) -> list[dict[str, object]]:
    files = list(folder.glob("query=q/*/*"))
    return [row for file in files for row in pq.read_table(file, columns=["src", "n"]).to_pylist()]


def test_a_part_put_twice_is_there_once(tmp_path):
    answer = shelf(tmp_path)
    answer.put("0", ROWS)
    answer.put("0", ROWS)
    answer.put("1", ROWS)
    answer.put_in_place()
    assert in_place(tmp_path) == ROWS.to_pylist() * 2
    assert not list((tmp_path / "_staging").glob("*"))


def test_an_attempt_given_up_for_lost_does_not_write_into_the_one_that_took_its_place(tmp_path, monkeypatch):
    answer, write_table = shelf(tmp_path), pq.write_table

    def overtaken(table, path, filesystem, **options):
        monkeypatch.setattr(pq, "write_table", write_table)
        with filesystem.open_output_stream(path) as half:
            half.write(b"half a ")
            answer.put("0", ROWS)
            half.write(b"file" * 1000)

    monkeypatch.setattr(pq, "write_table", overtaken)
    answer.put("0", ROWS)
    answer.put_in_place()
    assert in_place(tmp_path) == ROWS.to_pylist()
