"""A config file to the model: ``load_config``. Every problem is collected, each with its place in the file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from queries.config_files import ConfigFiles, QueryEntry
from queries.config_schema import ConfigShape, QueryShape, ResultsShape, check_shape
from queries.config_streams import PendingStream, check_stream
from queries.errors import InputError, Problem
from queries.intervals import check_interval
from queries.language import parse_query
from queries.model import Config, Query, SchedulerSettings, SparkSettings, Stream
from queries.names import name_problem
from queries.sql_errors import SqlError
from queries.types import Type
from queries.yaml_source import Document

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


def load_config(path: str | os.PathLike[str]) -> Config:
    """The checked configuration in the file ``path``, or ``InputError`` with everything wrong in it."""
    name = os.fspath(path)
    files = ConfigFiles()
    document = files.read(name)
    config = _Loader(files, document).load() if document is not None else None
    problems = list(files.problems)
    for read in files.documents:
        problems += sorted(dict.fromkeys(read.problems), key=_place)
    if problems or config is None:
        raise InputError(tuple(problems))
    return config


def _place(problem: Problem) -> tuple[int, int]:
    line, column = problem.location.rsplit(":", 2)[1:]
    return int(line), int(column)


class _Loader:
    def __init__(self, files: ConfigFiles, document: Document) -> None:
        self._files, self._document = files, document
        self._folder = os.path.dirname(os.path.abspath(document.name))

    def load(self) -> Config | None:
        document = self._document
        if document.value is None:
            if not document.problems:
                document.problem((), "the file is empty", "a config has streams: and queries:")
            return None
        shape = check_shape(ConfigShape, document, (), document.value, "the config")
        streams, broken = self._streams(document.value)
        schemas = {stream.name: stream.types for stream in streams}
        queries = self._queries(document.value, schemas, broken)
        written = document.value.get("results") if isinstance(document.value, dict) else None
        results, lake = self._results(written)
        if shape is None:
            return None
        finished = tuple(self._finished(stream, queries) for stream in streams)
        return Config(
            path=os.path.abspath(document.name),
            state=self._resolved(shape.state),
            results=results,
            streams=finished,
            queries=tuple(query for query, _ in queries),
            scheduler=SchedulerSettings(**shape.scheduler.model_dump()),
            spark=SparkSettings(
                shape.spark.master,
                tuple(sorted(shape.spark.conf.items())),
                None if shape.spark.storage is None else self._resolved(shape.spark.storage),
            ),
            results_keep=shape.results_keep,
            metrics_port=shape.metrics.port if shape.metrics is not None else None,
            audit=shape.audit,
            lake=lake,
            driver_memory_share=shape.driver_memory_share,
        )

    def _resolved(self, path: str) -> str:
        """Relative paths start at the config file's folder; URLs stay as they are."""
        return path if _URL.match(path) else os.path.normpath(os.path.join(self._folder, path))

    def _results(self, written: Any) -> tuple[str, str | None]:
        """The database, and the folder of large answers: ``results: URL`` or ``results: {sql: URL, lake: FOLDER}``."""
        if written is None or isinstance(written, str):
            return self._database(written or ResultsShape.model_fields["sql"].default, ("results",)), None
        shape = check_shape(ResultsShape, self._document, ("results",), written, "results") or ResultsShape()
        place = ("results", "sql") if isinstance(written, dict) and "sql" in written else ("results",)
        return self._database(shape.sql, place), None if shape.lake is None else self._resolved(shape.lake)

    def _database(self, url: str, place: tuple[str, ...]) -> str:
        scheme = "sqlite:///"
        if url.startswith(("postgresql:", "postgres:")):
            self._document.problem(place, "results in PostgreSQL are not available yet", "use sqlite:///")
        elif not url.startswith(scheme) or url == scheme:
            self._document.problem(
                place, f"results must be a URL of a database, not {url}", "write sqlite:///./var/results.db"
            )
        return f"{scheme}{os.path.normpath(os.path.join(self._folder, url.removeprefix(scheme)))}"

    def _streams(self, value: Any) -> tuple[list[PendingStream], set[str]]:
        """The good streams, and the lower-case names of those with problems of their own."""
        written = value.get("streams") if isinstance(value, dict) else None
        if not isinstance(written, dict):
            return [], set()
        if not written:
            self._document.problem(("streams",), "there is no stream", "define one under streams:")
        good: list[PendingStream] = []
        seen: dict[str, str] = {}
        for name, item in written.items():
            wrong = name_problem("stream", name)
            if wrong or name.lower() in seen:
                message, hint = wrong or (f"the streams {seen[name.lower()]} and {name} have the same name", None)
                self._document.problem(("streams", name), message, hint, key=True)
            seen.setdefault(name.lower(), name)
            stream = check_stream(self._document, name, item, self._resolved)
            if stream is not None:
                good.append(stream)
        return good, set(seen) - {stream.name.lower() for stream in good}

    def _queries(
        self, value: Any, schemas: Mapping[str, Mapping[str, Type]], broken: set[str]
    ) -> list[tuple[Query, QueryEntry]]:
        if not isinstance(value, dict) or "queries" not in value:
            return []
        before = len(self._files.documents), len(self._files.problems)
        entries = list(self._files.entries(self._document, ("queries",), value["queries"]))
        read = sum(len(document.problems) for document in self._files.documents)
        if not entries and not read and before == (len(self._files.documents), len(self._files.problems)):
            self._document.problem(("queries",), "there is no query", "add one with name: and sql:")
        seen: dict[str, str] = {}
        queries = []
        for entry in entries:
            query = self._query(entry, schemas, broken, seen)
            if query is not None:
                queries.append((query, entry))
        return queries

    def _query(
        self, entry: QueryEntry, schemas: Mapping[str, Mapping[str, Type]], broken: set[str], seen: dict[str, str]
    ) -> Query | None:
        document, before = entry.document, len(entry.document.problems)
        shape = check_shape(QueryShape, document, entry.path, entry.value, "a query")
        name = entry.value.get("name") if isinstance(entry.value, dict) else None
        if isinstance(name, str):
            place = (*entry.path, "name")
            wrong = name_problem("query", name)
            if wrong:
                document.problem(place, *wrong)
            elif name.lower() in seen:
                document.problem(
                    place, f"the name {name} is taken by another query", f"the first is at {seen[name.lower()]}"
                )
            seen.setdefault(name.lower(), document.locate(place))
        select = None
        if shape is not None:
            try:
                select = parse_query(shape.name, shape.sql, schemas, shape.window, shape.slide)
            except SqlError as error:
                for problem in error.problems:
                    if problem.stream is None or (problem.stream.lower() not in broken and (schemas or broken)):
                        place_inside = document.locate_inside((*entry.path, "sql"), problem.offset)
                        document.problems.append(Problem(place_inside, None, problem.message, problem.hint))
        if isinstance(name, str):
            named = (Problem(p.location, name, p.message, p.hint) for p in document.problems[before:])
            document.problems[before:] = list(named)
        if shape is None or select is None:
            return None
        return Query(
            name=shape.name,
            sql=shape.sql,
            select=select,
            semantics=shape.semantics,
            priority=shape.priority,
            until=shape.until,
            synopsis=shape.synopsis,
            placement=shape.placement,
            consistent=shape.consistent,
            place=document.locate((*entry.path, "synopsis" if shape.synopsis is not None else "name")),
        )

    def _finished(self, pending: PendingStream, queries: list[tuple[Query, QueryEntry]]) -> Stream:
        mine = [(query, entry) for query, entry in queries if query.stream == pending.name]
        return pending.with_interval(check_interval(pending.interval, mine))
