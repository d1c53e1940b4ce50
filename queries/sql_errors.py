"""What is wrong in a query's SQL text, and where: a character offset that becomes line and column."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from queries.errors import HemiolaError


@dataclass(frozen=True)
class SqlProblem:
    """``offset`` counts characters from the start of the SQL text; ``stream`` is set when that stream is unknown."""

    offset: int
    message: str
    hint: str | None = None
    stream: str | None = None


class Refusal(Exception):
    """One thing refused while binding; the binder collects these so that a user sees all of them at once."""

    def __init__(self, node: exp.Expr | int, message: str, hint: str | None = None, stream: str | None = None) -> None:
        super().__init__(message)
        self.problem = SqlProblem(node if isinstance(node, int) else offset_of(node), message, hint, stream)


class SqlError(HemiolaError):
    """Everything wrong with one query, in text order. ``str`` places each at ``line:col`` of the SQL text."""

    exit_code = 2

    def __init__(self, name: str, sql: str, problems: Iterable[SqlProblem]) -> None:
        self.sql = sql
        self.problems = tuple(sorted(set(problems), key=lambda problem: (problem.offset, problem.message)))
        lines = []
        for problem in self.problems:
            line, column = line_and_column(sql, problem.offset)
            hint = f"\n  hint: {problem.hint}" if problem.hint else ""
            lines.append(f"{line}:{column}: query {name}: {problem.message}{hint}")
        super().__init__("\n".join(lines))


def offset_of(node: exp.Expr) -> int:
    """Where ``node`` begins: the first position known in it, else in what encloses it."""
    known = [part.meta["start"] for part in node.walk() if "start" in part.meta]
    if known:
        return int(min(known))
    return offset_of(node.parent) if isinstance(node.parent, exp.Expr) else 0


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Both count from 1."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint with the nearest of ``known``, or None when nothing is near."""
    spelled = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(name.lower(), list(spelled), n=1, cutoff=0.6)
    return f"did you mean {spelled[near[0]]}?" if near else None
