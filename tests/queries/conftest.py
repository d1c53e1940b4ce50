"""The stream that the tests of the language read, and a shorthand for parsing a query over it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from queries.language import parse_query
from queries.model import Select
from queries.types import Type

SCHEMAS = {
    "packets": {
        "ts": Type.TIMESTAMP,
        "src": Type.STRING,
        "dst": Type.STRING,
        "protocol": Type.STRING,
        "port": Type.INT,
        "length": Type.BIGINT,
        "Ratio": Type.DOUBLE,
        "small": Type.FLOAT,
        "price": Type.DECIMAL,
        "ok": Type.BOOLEAN,
        "day": Type.DATE,
    }
}


@pytest.fixture
def parse() -> Callable[[str], Select]:
    """Parses SQL in which ``@`` stands for the stream with a window of 10 and a slide of 2 minutes."""

    def parse_sql(sql: str) -> Select:
        return parse_query("q", sql.replace("@", "packets [WINDOW 10 min SLIDE 2 min]"), SCHEMAS)

    return parse_sql
