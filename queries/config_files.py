"""The files of a configuration: reading them, and finding the query entries behind ``include:``."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from queries.config_schema import IncludeShape, QueriesShape, check_shape
from queries.errors import Problem
from queries.yaml_source import Document, Path, read_document


@dataclass(frozen=True)
class QueryEntry:
    """One query as written: ``value`` stands at ``path`` of ``document``."""

    document: Document
    path: Path
    value: Any


@dataclass
class ConfigFiles:
    """Every file read so far, in order; ``problems`` holds what has no place inside a file."""

    documents: list[Document] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)

    def read(self, name: str) -> Document | None:
        """The parsed file, or None with the reason in ``problems``."""
        self._seen.add(os.path.realpath(name))
        try:
            with open(name, encoding="utf-8", newline="") as file:
                text = file.read().replace("\r\n", "\n")
        except FileNotFoundError:
            self.problems.append(Problem(name, None, "there is no such file"))
        except IsADirectoryError:
            self.problems.append(Problem(name, None, "this is a folder, not a file"))
        except UnicodeDecodeError as error:
            self.problems.append(Problem(name, None, f"this is not UTF-8 text (byte {error.start})"))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            self.problems.append(Problem(name, None, f"the file cannot be read: {reason}"))
        else:
            document = read_document(name, text.removeprefix("\ufeff"))
            self.documents.append(document)
            return document
        return None

    def entries(self, document: Document, path: Path, queries: Any) -> Iterator[QueryEntry]:
        """The query entries under ``queries:``, those of included files among them, in order."""
        if isinstance(queries, dict):
            yield from self._included(document, path, queries)
        elif isinstance(queries, list):
            for number, item in enumerate(queries):
                if isinstance(item, dict) and "include" in item:
                    yield from self._included(document, (*path, number), item)
                else:
                    yield QueryEntry(document, (*path, number), item)
        else:
            document.problem(path, "queries must be a list of queries", "begin each with - name:")

    def _included(self, document: Document, path: Path, value: dict[str, Any]) -> Iterator[QueryEntry]:
        shape = check_shape(IncludeShape, document, path, value, "an include")
        if shape is None:
            return
        patterns = [shape.include] if isinstance(shape.include, str) else shape.include
        for pattern in patterns:
            names = self._matches(document, pattern)
            if not names:
                document.problem((*path, "include"), f"no file matches {pattern}", "paths start at this file's folder")
            for name in names:
                yield from self._file(document, (*path, "include"), name)

    def _matches(self, document: Document, pattern: str) -> list[str]:
        try:
            found = sorted(glob.glob(os.path.join(os.path.dirname(document.name), pattern), recursive=True))
        except (ValueError, OSError):
            return []
        return [os.path.normpath(name) for name in found if not os.path.isdir(name)]

    def _file(self, document: Document, path: Path, name: str) -> Iterator[QueryEntry]:
        if os.path.realpath(name) in self._seen:
            document.problem(path, f"{name} is included twice")
            return
        included = self.read(name)
        if included is None or (included.value is None and included.problems):
            return
        if isinstance(included.value, list):
            yield from self.entries(included, (), included.value)
            return
        shape = check_shape(QueriesShape, included, (), included.value, "an included file")
        if shape is not None:
            yield from self.entries(included, ("queries",), shape.queries)
