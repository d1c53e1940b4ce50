"""Which functions may stand in a record-level expression: Spark's own, less those without one answer per record."""

from __future__ import annotations

from functools import cache
from importlib import resources

from sqlglot import exp

from queries.aggregate_names import OURS, REMEDIES, UNAVAILABLE
from queries.functions import AGGREGATES
from queries.sql_errors import Refusal, did_you_mean

NOT_REPEATABLE = frozenset(
    """
    rand randn random randstr uniform uuid shuffle now curdate current_date current_time current_timestamp
    localtimestamp current_datetime unix_timestamp_now current_timezone current_user user session_user current_role
    current_catalog current_database current_schema version monotonically_increasing_id spark_partition_id
    input_file_name input_file_block_start input_file_block_length raise_error assert_true getdate sysdate today
    """.split()
)
"""Functions whose value depends on when or where they run; a window replayed must give the same answer."""

GENERATORS = frozenset(
    "explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple unnest".split()
)

_AGGREGATE_LIST = ", ".join(sorted({*AGGREGATES, "MEDIAN"} - {"COUNT_DISTINCT"})) + ", COUNT(DISTINCT x)"


@cache
def spark_functions() -> frozenset[str]:
    """Spark's built-in functions and operators, lower case (``SHOW SYSTEM FUNCTIONS`` of the Spark we run on)."""
    text = resources.files("queries").joinpath("spark_functions.txt").read_text(encoding="utf-8")
    return frozenset(text.split())


def written_names(node: exp.Expr) -> set[str]:
    """The lower-case names under which ``node``, a function call, may have been written."""
    if isinstance(node, exp.Anonymous):
        return {node.name.lower()}
    if isinstance(node, exp.Func):
        return {name.lower() for name in type(node).sql_names()}
    return set()


def check_function(node: exp.Expr) -> None:
    """Raise ``Refusal`` when ``node`` calls a function that may not stand in a record-level expression."""
    names = written_names(node)
    unrepeatable = names & NOT_REPEATABLE
    if "unix_timestamp" in names and not list(node.iter_expressions()):
        unrepeatable = {"unix_timestamp"}
    if unrepeatable and not isinstance(node, exp.Cast):
        name = min(unrepeatable).upper()
        raise Refusal(
            node,
            f"{name} has another value each time it is asked, so a window would not have one right answer",
            "use the columns of the record, for instance the stream's time column",
        )
    generators = names & GENERATORS
    if generators:
        raise Refusal(node, f"{min(generators).upper()} makes several records of one, which is not supported")
    if isinstance(node, exp.Anonymous):
        check_named(node, node.name)


def check_named(node: exp.Expr, name: str) -> None:
    """Raise ``Refusal`` unless Spark has a function ``name``."""
    if name.lower() in spark_functions():
        return
    hint = did_you_mean(name, {*(known.upper() for known in spark_functions() if known[0].isalpha()), *AGGREGATES})
    raise Refusal(node, f"there is no function {name.upper()}", hint)


def refuse_aggregate(node: exp.Expr, name: str) -> Refusal:
    """Why the aggregate ``name`` (lower case, not one of ours) cannot be used."""
    return Refusal(
        node, f"the aggregate {name.upper()} is not available", REMEDIES.get(name, f"there are {_AGGREGATE_LIST}")
    )


def aggregate_name(node: exp.Expr) -> str | None:
    """The lower-case name of the aggregate that ``node`` calls, ours or not; None for anything else."""
    if isinstance(node, exp.Anonymous):
        name = node.name.lower()
        return name if name in OURS or name in UNAVAILABLE else None
    if isinstance(node, exp.AggFunc):
        return type(node).sql_names()[0].lower()
    return None
