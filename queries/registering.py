"""Queries from a file of their own, checked against streams that exist already: for a running daemon."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from queries.config import _Loader, _place
from queries.config_files import ConfigFiles
from queries.errors import InputError
from queries.intervals import check_interval
from queries.model import Query, Stream


def load_queries(path: str | os.PathLike[str], streams: Sequence[Stream]) -> list[tuple[Query, dict[str, Any]]]:
    """The queries in the file, each with its entry as written, or ``InputError`` with everything wrong in it.

    The file has the form of an included one: a list of queries, or a mapping with ``queries:``.
    """
    files = ConfigFiles()
    document = files.read(os.fspath(path))
    found = []
    if document is not None and document.value is not None:
        value = document.value
        place: tuple[str, ...] = ("queries",) if isinstance(value, dict) and "queries" in value else ()
        items = value["queries"] if place else value
        loader, seen = _Loader(files, document), dict[str, str]()
        schemas = {stream.name: stream.types for stream in streams}
        for entry in files.entries(document, place, items):
            query = loader._query(entry, schemas, set(), seen)
            if query is not None:
                found.append((query, entry))
    elif document is not None and not document.problems:
        document.problem((), "the file is empty", "it has queries:")
    for stream in streams:
        check_interval(stream.interval, [(query, entry) for query, entry in found if query.stream == stream.name])
    problems = list(files.problems)
    for read in files.documents:
        problems += sorted(dict.fromkeys(read.problems), key=_place)
    if problems:
        raise InputError(tuple(problems))
    return [(query, entry.value) for query, entry in found]
