"""The grammar: Spark SQL as sqlglot reads it, plus ``[WINDOW w SLIDE p]`` after a stream's name.

Aggregates are read as ``Anonymous`` calls under the name the user wrote, because ours differ from Spark's
(QUANTILE is discrete) and because one shape for all of them keeps the binder small.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import pairwise
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from queries.aggregate_names import AGGREGATE_NAMES

WINDOW_CLAUSE = "window_clause"

logging.getLogger("sqlglot").setLevel(logging.ERROR)
"""sqlglot also logs as warnings what we refuse with a reason; the user should read it once."""


class WindowClause(exp.Expression):
    """``[WINDOW w SLIDE p]``: the durations' raw text, and where each begins in the SQL text."""

    arg_types: ClassVar[dict[str, bool]] = {"window": True, "slide": False, "window_start": True, "slide_start": False}


class _Parser(SparkParser):
    FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {
        name: build for name, build in SparkParser.FUNCTIONS.items() if name.lower() not in AGGREGATE_NAMES
    }
    FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
        name: parse for name, parse in SparkParser.FUNCTION_PARSERS.items() if name.lower() not in AGGREGATE_NAMES
    }

    def _parse_table_parts(
        self, schema: bool = False, is_db_reference: bool = False, wildcard: bool = False, fast: bool = False
    ) -> exp.Table | exp.Dot | None:
        table = super()._parse_table_parts(schema, is_db_reference, wildcard, fast)
        if table is not None and self._curr and self._curr.token_type == TokenType.L_BRACKET:
            table.set(WINDOW_CLAUSE, self._parse_stream_window())
        return table

    def _parse_stream_window(self) -> WindowClause:
        opening = self._curr
        self._advance()
        if not self._match_text_seq("WINDOW"):
            self.raise_error("Expected WINDOW after '['")
        parts: dict[str, Any] = {}
        parts["window"], parts["window_start"] = self._parse_duration_text(self._prev)
        if self._match_text_seq("SLIDE"):
            parts["slide"], parts["slide_start"] = self._parse_duration_text(self._prev)
        if not self._match(TokenType.R_BRACKET):
            self.raise_error("Expected ']' at the end of the WINDOW clause")
        clause = WindowClause(**parts)
        clause.update_positions(opening)
        return clause

    def _parse_duration_text(self, keyword: Token) -> tuple[str, int]:
        """The raw text up to SLIDE or ``]``: the tokenizer would read ``10s`` as a SMALLINT literal."""
        start = self._curr.start if self._curr else keyword.end + 1
        while self._curr and self._curr.token_type != TokenType.R_BRACKET and self._curr.text.upper() != "SLIDE":
            self._advance()
        if not self._curr:
            self.raise_error("Expected ']' at the end of the WINDOW clause", keyword)
        return self.sql[keyword.end + 1 : self._curr.start].strip(), start


class HemiolaSQL(Spark):
    """Our dialect. Generation is Spark's own."""

    Parser = _Parser


def clause_offset(sql: str) -> int | None:
    """Where ``[WINDOW …]`` begins in ``sql``; None without one."""
    for token, following in pairwise(HemiolaSQL().tokenize(sql)):
        if token.token_type == TokenType.L_BRACKET and following.text.upper() == "WINDOW":
            return int(token.start)
    return None


def parse_statements(sql: str) -> list[exp.Expr | None]:
    """The statements in ``sql``; raises sqlglot's ParseError or TokenError."""
    return HemiolaSQL().parse(sql)
