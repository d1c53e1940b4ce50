"""Which queries a daemon keeps fresh: those of its config, less what was deregistered, plus what was registered.

Changes made while running survive a restart: they are two small files in the state folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from queries.errors import InputError, Problem
from queries.model import Config, Query, Stream
from queries.registering import load_queries
from queries.sql_errors import did_you_mean
from synopses.partials_store import write_atomically

_ADDED, _REMOVED = "registered.yaml", "deregistered.json"


class Catalog:
    def __init__(self, folder: Path, config: Config) -> None:
        self._folder, self._config = folder, config
        self._added: dict[str, tuple[Query, dict[str, Any]]] = {}
        self._removed: set[str] = set()
        if (folder / _ADDED).exists():
            self._added = {query.name: (query, entry) for query, entry in load_queries(folder / _ADDED, config.streams)}
        if (folder / _REMOVED).exists():
            self._removed = set(json.loads((folder / _REMOVED).read_text(encoding="utf-8")))

    @property
    def queries(self) -> tuple[Query, ...]:
        """The registered set: the config's first, in its order."""
        ours = [query for query in self._config.queries if query.name not in self._removed | set(self._added)]
        return (*ours, *(query for query, _ in self._added.values()))

    def register(self, paths: Sequence[str | os.PathLike[str]], streams: Sequence[Stream]) -> tuple[Query, ...]:
        """Adds all queries of these files, or none; those it added."""
        new: dict[str, tuple[Query, dict[str, Any]]] = {}
        problems = []
        taken = {query.name.lower() for query in self.queries}
        for path in paths:
            for query, entry in load_queries(path, streams):
                if query.name.lower() in taken:
                    hint = "deregister it first, or choose another name"
                    problems.append(Problem(os.fspath(path), query.name, "the name is registered already", hint))
                taken.add(query.name.lower())
                new[query.name] = (query, entry)
        if problems:
            raise InputError(tuple(problems))
        self._keep_added(self._added | new)
        return tuple(query for query, _ in new.values())

    def deregister(self, names: Sequence[str]) -> None:
        """Removes all of these queries, or none."""
        registered = [query.name for query in self.queries]
        unknown = [name for name in names if name not in registered]
        if unknown:
            hints = [did_you_mean(name, registered) or "hemiola list shows them" for name in unknown]
            raise InputError(
                tuple(
                    Problem("deregister", None, f"no query {name} is registered", hint)
                    for name, hint in zip(unknown, hints, strict=True)
                )
            )
        removed = self._removed | {query.name for query in self._config.queries if query.name in names}
        if removed != self._removed:
            write_atomically(self._folder / _REMOVED, json.dumps(sorted(removed)).encode())
            self._removed = removed
        self._keep_added({name: added for name, added in self._added.items() if name not in names})

    def reload(self, config: Config) -> None:
        """The config was edited: what it says of its own queries holds again."""
        write_atomically(self._folder / _REMOVED, b"[]")
        names = {query.name for query in config.queries}
        self._config, self._removed = config, set()
        self._keep_added({name: added for name, added in self._added.items() if name not in names})

    def _keep_added(self, added: dict[str, tuple[Query, dict[str, Any]]]) -> None:
        if added.keys() == self._added.keys():
            return
        content = json.dumps({"queries": [entry for _, entry in added.values()]}, ensure_ascii=False, indent=1)
        write_atomically(self._folder / _ADDED, content.encode())
        self._added = added
