"""The one root of all errors a user sees, with fields to act on."""

from __future__ import annotations

from dataclasses import dataclass


class HemiolaError(Exception):
    """Something the user can act on: ``query`` and ``location`` say where, ``hint`` what to do."""

    exit_code = 1

    def __init__(
        self, message: str, *, query: str | None = None, location: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.query, self.location, self.hint = message, query, location, hint

    def __str__(self) -> str:
        place = f"{self.location}: " if self.location else ""
        query = f"query {self.query}: " if self.query else ""
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{place}{query}{self.message}{hint}"


@dataclass(frozen=True)
class Problem:
    """One thing wrong in the user's input."""

    location: str
    query: str | None
    message: str
    hint: str | None = None

    def __str__(self) -> str:
        query = f"query {self.query}: " if self.query else ""
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{self.location}: {query}{self.message}{hint}"


class InputError(HemiolaError):
    """The user's input is wrong: every problem found, in file order. Exit code 2."""

    exit_code = 2

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))

    def __str__(self) -> str:
        return self.message


class RunError(HemiolaError):
    """It failed at run time. Exit code 1."""
