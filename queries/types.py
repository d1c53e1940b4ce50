"""Column types: Spark SQL's names, and the few facts planners need about them."""

from __future__ import annotations

from enum import Enum


class Type(Enum):
    """A scalar type under its Spark SQL name (``Type.BIGINT.value`` is valid in a CAST)."""

    BOOLEAN = "BOOLEAN"
    TINYINT = "TINYINT"
    SMALLINT = "SMALLINT"
    INT = "INT"
    BIGINT = "BIGINT"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    DECIMAL = "DECIMAL"
    STRING = "STRING"
    DATE = "DATE"
    TIMESTAMP = "TIMESTAMP"
    BINARY = "BINARY"

    @property
    def integer(self) -> bool:
        return self in _INTEGERS

    @property
    def fractional(self) -> bool:
        return self in (Type.FLOAT, Type.DOUBLE, Type.DECIMAL)

    @property
    def numeric(self) -> bool:
        return self.integer or self.fractional

    @property
    def ordered(self) -> bool:
        """Whether MIN, MAX and QUANTILE make sense of it."""
        return self is not Type.BINARY


_INTEGERS = frozenset({Type.TINYINT, Type.SMALLINT, Type.INT, Type.BIGINT})
