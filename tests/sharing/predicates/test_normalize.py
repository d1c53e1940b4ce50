"""The normal form keeps exactly the records of the WHERE (DuckDB judges), and equal questions get equal forms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import duckdb
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st

from queries.types import Type
from sharing.predicates import Predicate, normalize

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPES = {
    "p": Type.INT,
    "length": Type.BIGINT,
    "x": Type.DOUBLE,
    "m": Type.DECIMAL,
    "protocol": Type.STRING,
    "user": Type.STRING,
    "flag": Type.BOOLEAN,
    "day": Type.DATE,
    "ts": Type.TIMESTAMP,
}


def form(where: str | None) -> Predicate:
    return normalize(where, TYPES)


@pytest.mark.parametrize(
    ("where", "text"),
    [
        (None, "all records"),
        ("TRUE OR p < 5", "all records"),
        ("p < 5 AND NULL", "FALSE"),
        ("p = 4.5", "FALSE"),
        ("p = NULL", "FALSE"),
        ("p NOT IN (1, NULL)", "FALSE"),
        ("p > 10 AND p < 5", "FALSE"),
        ("x < 5 OR x >= 5", "x IS NOT NULL"),
        ("p < 5 OR NOT p < 5 OR p IS NULL", "all records"),
        ("p <= 4", "p < 5"),
        ("5 > p", "p < 5"),
        ("NOT p >= 4.5", "p < 5"),
        ("CAST(p AS BIGINT) < 5", "p < 5"),
        ("p < 5L", "p < 5"),
        ("p < 5e0", "p < 5"),
        ("p < 3000000000", "p IS NOT NULL"),
        ("p BETWEEN 2 AND 4 OR p = 5", "2 <= p < 6"),
        ("p NOT BETWEEN 2 AND 4", "p < 2 OR p >= 5"),
        ("NOT (p < 2 AND protocol = 'TCP')", "p >= 2 OR protocol <> 'TCP'"),
        ("protocol = 'TCP' OR user = 'U'", "protocol = 'TCP' OR user = 'U'"),
        ("p < 10 AND protocol = 'TCP'", "p < 10 AND protocol = 'TCP'"),
        ("(p < 9 AND protocol = 'A') OR (protocol = 'B' AND p < 9)", "p < 9 AND protocol IN ('A', 'B')"),
        ("p < 9 OR (p < 9 AND protocol = 'A')", "p < 9"),
        ("p < 9 AND (p < 20 OR user = 'U')", "p < 9"),
        ("p < 9 AND (p >= 9 OR user = 'U')", "p < 9 AND user = 'U'"),
        ("flag", "flag = TRUE"),
        ("NOT flag", "flag = FALSE"),
        ("flag IS NOT TRUE", "flag IS NULL OR flag = FALSE"),
        ("p <=> 5", "p = 5"),
        ("p <=> NULL", "p IS NULL"),
        ("p IS DISTINCT FROM 5", "p IS NULL OR p <> 5"),
        ("isnull(p)", "p IS NULL"),
        ("NOT ISNAN(x)", "x IS NULL OR x <= inf"),
        ("x > CAST('Infinity' AS DOUBLE)", "ISNAN(x)"),
        ("day > '2024-01-01' AND day < DATE '2024-02-01'", "2024-01-02 <= day < 2024-02-01"),
        ("ts < TIMESTAMP '2024-01-01 00:00:00'", "ts < 2024-01-01 00:00:00Z"),
        ("ts < TIMESTAMP '2024-01-01 02:00:00+02:00'", "ts < 2024-01-01 00:00:00Z"),
        ("protocol >= ''", "protocol IS NOT NULL"),
        ("NOT p < length", "p >= length"),
        ("LENGTH(user) = 3 OR p = 1", "p = 1 OR LENGTH(user) = 3"),
    ],
)
def test_normal_form(where: str | None, text: str) -> None:
    assert str(form(where)) == text


@pytest.mark.parametrize(
    "where",
    [
        "p = '5'",  # a cast of the text decides
        "length < 9007199254740993e0",  # compared as doubles, where neighbours are equal
        "m < 1.5e0",
        "user LIKE 'a%'",
        "p + 1 < 5",
        "p < length",
        "day < TIMESTAMP '2024-01-01 12:00:00'",
        "day <= '9999-12-31'",
        "CAST(p AS TINYINT) < 5",
    ],
)
def test_what_has_no_exact_domain_stays_opaque(where: str) -> None:
    (clause,) = form(where).clauses
    assert clause.opaque and not clause.terms


def test_a_conjunction_inside_a_disjunction_is_one_opaque_atom_whatever_its_order() -> None:
    one = form("(p < 9 AND protocol = 'A') OR (protocol = 'B' AND p < 3)")
    assert one == form("(p <= 2 AND protocol = 'B') OR (NOT p >= 9 AND protocol = 'A')")
    assert len(next(iter(one.clauses)).opaque) == 2


ATOMS = (
    *(f"p {op} {c}" for op in ("=", "<>", "<", "<=", ">", ">=") for c in ("1", "2", "2.5", "NULL")),
    *(f"x {op} {c}" for op in ("=", "<", ">=") for c in ("1.5", "CAST('NaN' AS DOUBLE)", "CAST('Infinity' AS DOUBLE)")),
    *(f"protocol {op} {c}" for op in ("=", "<>", "<", ">=") for c in ("'TCP'", "'UDP'", "''")),
    "protocol IN ('TCP', 'UDP')",
    "p NOT IN (1, NULL)",
    "p IN (1, 3, NULL)",
    "p BETWEEN 1 AND 2",
    "p NOT BETWEEN 2 AND NULL",
    "p IS NULL",
    "x IS NOT NULL",
    "flag",
    "flag IS TRUE",
    "flag = FALSE",
    "p IS DISTINCT FROM 2",
    "protocol <=> 'TCP'",
    "p < x",
    "LENGTH(protocol) = 3",
    "day >= DATE '2024-01-02'",
    "day <> DATE '2024-01-01'",
    "ts < TIMESTAMP '2024-01-01 00:00:00'",
    "m < 1.5",
    "m = 2",
    "TRUE",
    "NULL",
)
wheres = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        inner.map(lambda text: f"NOT ({text})"),
        st.tuples(inner, st.sampled_from(("AND", "OR")), inner).map(lambda t: f"(({t[0]}) {t[1]} ({t[2]}))"),
    ),
    max_leaves=8,
)

SPARK_ATOMS = (
    *ATOMS,
    *(f"f {op} {c}" for op in ("=", "<", "<=") for c in ("0.1", "0.5", "1", "1e0", "0.1D")),
    "day > '2024-01-01'",
    "ts >= '2024-01-01 00:00:00'",
    "ts > DATE '2023-12-31'",
    "ts < TIMESTAMP '2024-01-01 01:00:00+01:00'",
    "p < CAST('NaN' AS DOUBLE)",
    "p <= 2e0",
    "p > -3000000000",
    "NOT ISNAN(x)",
    "ISNULL(protocol)",
    "x IN (1.5, 2, 1e0)",
    "m IN (1.5, 2)",
    "m < 1.495BD",
    "NOT (p < x)",
    "x = -0.0",
)


@pytest.fixture(scope="module")
def judge() -> Iterator[duckdb.DuckDBPyConnection]:
    """A table with every combination of telling values of the columns used above."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("""
        CREATE TABLE r AS SELECT * FROM
            (SELECT unnest([0, 1, 2, 3, NULL])::INT AS p),
            (SELECT unnest(['-1', '1.5', '2', 'inf', 'nan', NULL]::DOUBLE[]) AS x),
            (SELECT unnest(['', 'TCP', 'UDP', 'X', NULL]) AS protocol),
            (SELECT unnest([true, false, NULL]) AS flag),
            (SELECT unnest([DATE '2024-01-01', DATE '2024-01-02', NULL]) AS day,
                    unnest([TIMESTAMPTZ '2023-12-31 23:59:59.999999Z', TIMESTAMPTZ '2024-01-01 00:00:00Z', NULL]) AS ts,
                    unnest([1.5, 1.49, 2, NULL]::DECIMAL(9, 2)[]) AS m)
    """)
    yield connection
    connection.close()


@pytest.mark.slow
@settings(max_examples=150)
@given(wheres)
def test_normal_form_keeps_exactly_the_records_of_the_where(judge: duckdb.DuckDBPyConnection, where: str) -> None:
    predicate = form(where)
    original, normal = (sqlglot.transpile(text, "spark", "duckdb")[0] for text in (where, predicate.to_sql() or "TRUE"))
    differing = judge.execute(
        f"SELECT count(*) FROM r WHERE coalesce({original}, FALSE) <> coalesce({normal}, FALSE)"
    ).fetchone()
    assert differing == (0,), f"{where} became {predicate}"
    assert form(predicate.to_sql()) == predicate
    if predicate.never:
        assert judge.execute(f"SELECT count(*) FROM r WHERE {original}").fetchone() == (0,)


def test_spark_keeps_the_same_records_for_every_atom_and_its_negation(spark: SparkSession) -> None:
    spark.sql("""
        SELECT * FROM VALUES (0), (1), (2), (3), (NULL) AS a(p)
        CROSS JOIN VALUES (-1D), (0D), (1.5D), (2D), (DOUBLE('Infinity')), (DOUBLE('NaN')), (NULL) AS b(x)
        CROSS JOIN VALUES (''), ('TCP'), ('UDP'), ('X'), (NULL) AS c(protocol)
        CROSS JOIN VALUES
            (true, DATE '2024-01-01', TIMESTAMP '2023-12-31 23:59:59.999999Z', 1.50, FLOAT(0.1)),
            (false, DATE '2024-01-02', TIMESTAMP '2024-01-01 00:00:00Z', 1.49, FLOAT(0.5)),
            (NULL, NULL, NULL, NULL, NULL) AS d(flag, day, ts, m, f)
    """).createOrReplaceTempView("predicate_records")
    wheres = [text for atom in SPARK_ATOMS for text in (atom, f"NOT ({atom})")]
    forms = [normalize(text, {**TYPES, "f": Type.FLOAT}).to_sql() or "TRUE" for text in wheres]
    differing = ", ".join(
        f"count_if(coalesce({text}, FALSE) <> coalesce({form}, FALSE)) AS d{i}"
        for i, (text, form) in enumerate(zip(wheres, forms, strict=True))
    )
    counts = spark.sql(f"SELECT {differing} FROM predicate_records").first()
    assert counts is not None
    assert [where for where, count in zip(wheres, counts, strict=True) if count] == []
