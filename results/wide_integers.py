"""Which integer answers may exceed 64 bits.

Integers are exact and widened, never wrapped (semantics.md 2), but databases end at 64 bits. The rule: an integer
may be wide if a SUM or arithmetic above the aggregates goes into its value. Counts, record-level values and what is
picked from them (MIN, MAX, QUANTILE, keys) fit.
"""

from __future__ import annotations

from queries.model import AggregateCall, Call, Expression, Literal, Output, Ref, Scalar, Select, Value

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

_WIDENING = frozenset({"+", "-", "*", "DIV", "NEG", "ABS", "ROUND", "FLOOR", "CEIL"})
_PICKING = frozenset({"MIN", "MAX", "QUANTILE"})


def may_be_wide(output: Output, select: Select) -> bool:
    return output.type.integer and _wide(output.value, select)


def _wide(value: Expression, select: Select) -> bool:
    """``value`` stands above the aggregates of ``select``: its Refs are k0, k1, … and a0, a1, …."""
    match value:
        case Ref(name=name) if name.startswith("k"):
            return _wide_input(select.keys[int(name[1:])], select)
        case Ref(name=name):
            return _wide_aggregate(select.aggregates[int(name[1:])], select)
        case _:
            return _wide_literal_or_call(value) or any(
                _wide(argument, select) for argument in _integer_arguments(value)
            )


def _wide_aggregate(aggregate: AggregateCall, select: Select) -> bool:
    if not aggregate.type.integer or aggregate.argument is None:
        return False
    if aggregate.function in _PICKING:
        return _wide_input(aggregate.argument, select)
    return aggregate.function == "SUM"


def _wide_input(value: Value, select: Select) -> bool:
    """``value`` stands below the aggregates of ``select``: its Refs are the outputs of the inner Select."""
    match value:
        case Scalar():
            return False
        case Ref(name=name):
            assert isinstance(select.source, Select)
            inner = select.source
            return any(may_be_wide(output, inner) for output in inner.outputs if output.name == name)
        case _:
            return _wide_literal_or_call(value) or any(
                _wide_input(argument, select) for argument in _integer_arguments(value)
            )


def _wide_literal_or_call(value: Literal | Call) -> bool:
    if isinstance(value, Literal):
        return isinstance(value.value, int) and not INT64_MIN <= value.value <= INT64_MAX
    return value.type.integer and value.op in _WIDENING


def _integer_arguments(value: Literal | Call) -> tuple[Expression, ...]:
    if isinstance(value, Literal):
        return ()
    return tuple(argument for argument in value.args if argument.type.integer)
