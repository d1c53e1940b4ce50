"""The shape of a query's answer table: ``window_start, window_end, complete, [rank,] keys, answers, refreshed_at,
late_by, restored`` (product.md, Results), before any database gives it types."""

from __future__ import annotations

from dataclasses import dataclass

from queries.errors import InputError, Problem
from queries.model import Query, Ref
from queries.types import Type
from results.wide_integers import may_be_wide

OWN_PREFIX = "hemiola_"


@dataclass(frozen=True)
class AnswerColumn:
    """``wide``: an integer that may exceed 64 bits."""

    name: str
    type: Type
    key: bool
    wide: bool


@dataclass(frozen=True)
class AnswerTable:
    """``columns`` are the keys, then the other answers, each in SELECT order. ``distinct`` says the keys in it tell
    its rows of one window apart (all group keys are selected)."""

    name: str
    columns: tuple[AnswerColumn, ...]
    ordered: bool
    distinct: bool

    @property
    def keys(self) -> tuple[AnswerColumn, ...]:
        return tuple(column for column in self.columns if column.key)

    @property
    def leading(self) -> tuple[str, ...]:
        return ("window_start", "window_end", "complete") + (("rank",) if self.ordered else ())

    @property
    def trailing(self) -> tuple[str, ...]:
        return ("refreshed_at", "late_by", "restored")

    @property
    def column_names(self) -> tuple[str, ...]:
        return (*self.leading, *(column.name for column in self.columns), *self.trailing)


def answer_table(query: Query) -> AnswerTable:
    select = query.select
    columns = [
        AnswerColumn(output.name, output.type, output.key, may_be_wide(output, select)) for output in select.outputs
    ]
    columns.sort(key=lambda column: not column.key)
    selected = {output.value.name for output in select.outputs if isinstance(output.value, Ref)}
    distinct = all(f"k{i}" in selected for i in range(len(select.keys)))
    return AnswerTable(query.name, tuple(columns), select.ordered, distinct)


def check_names(tables: tuple[AnswerTable, ...]) -> None:
    """Refuse names a results database cannot hold side by side; SQL names differ by more than case."""
    problems: list[Problem] = []
    seen: dict[str, str] = {}
    for table in tables:
        lower = table.name.lower()
        if lower.startswith((OWN_PREFIX, "sqlite_")):
            problems.append(_problem(table, "the name belongs to the results database", "choose another prefix"))
        if lower in seen:
            problems.append(
                _problem(table, f"the name is taken by query {seen[lower]}", "names ignore case: rename one")
            )
        seen[lower] = table.name
        columns: set[str] = set()
        for name in table.column_names:
            if name.lower() in columns:
                message = f"the answer would have two columns named {name}"
                problems.append(_problem(table, message, "give the column another alias: … AS other_name"))
            columns.add(name.lower())
    if problems:
        raise InputError(tuple(problems))


def _problem(table: AnswerTable, message: str, hint: str) -> Problem:
    return Problem("results", table.name, message, hint)
