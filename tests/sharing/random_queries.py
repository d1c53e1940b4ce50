"""Random queries over the small stream that have much in common, so that every rule finds something to share."""

from __future__ import annotations

from hypothesis import strategies as st

from sharing.cost import Statistics
from tests.sharing.small_events import query

AGGREGATES = [
    "COUNT(*)",
    "COUNT(length)",
    "SUM(length)",
    "SUM(port)",
    "SUM(score)",
    "AVG(length)",
    "AVG(port)",
    "MIN(length)",
    "MAX(length)",
    "MAX(src)",
    "STDDEV(port)",
    "COUNT(DISTINCT src)",
    "COUNT(DISTINCT port)",
    "QUANTILE(length, 0.5)",
]
KEYS = st.lists(st.sampled_from(["src", "protocol", "flag"]), unique=True, max_size=2)
PORT = st.one_of(
    st.integers(0, 9).map(lambda c: f"port < {c}"),
    st.integers(0, 9).map(lambda c: f"port >= {c}"),
    st.integers(0, 9).map(lambda c: f"port = {c}"),
    st.tuples(st.integers(0, 5), st.integers(2, 9)).map(lambda pair: f"port BETWEEN {pair[0]} AND {pair[1]}"),
    st.sets(st.integers(0, 9), min_size=1, max_size=3).map(lambda c: f"port IN ({', '.join(map(str, sorted(c)))})"),
    st.sampled_from(["port IS NULL", "port IS NOT NULL", "port <> 3"]),
)
PROTOCOL = st.sampled_from(
    [
        "protocol = 'TCP'",
        "protocol = 'UDP'",
        "protocol IN ('TCP', 'UDP')",
        "protocol = 'ICMP' OR protocol = 'UDP'",
        "protocol <> 'TCP'",
        "protocol IS NULL",
    ]
)
OTHER = st.sampled_from(["usr = 'U'", "flag", "NOT flag", "usr LIKE 'U%'", "length % 2 = 0"])
ATOM = st.one_of(PORT, PORT, PROTOCOL, PROTOCOL, OTHER)
WHERE = st.one_of(
    st.just(""),
    ATOM,
    ATOM,
    st.tuples(ATOM, ATOM).map(lambda pair: f"({pair[0]}) AND ({pair[1]})"),
    st.tuples(ATOM, ATOM).map(lambda pair: f"({pair[0]}) OR ({pair[1]})"),
)
STATISTICS = st.builds(Statistics, rows=st.sampled_from([100.0, 10_000.0, 1e7]), otherwise=st.sampled_from([2, 1_000]))


RELATED = [
    ["protocol = 'TCP'", "protocol = 'UDP'", "protocol IN ('TCP', 'UDP')", "protocol IN ('UDP', 'ICMP')"],
    ["protocol = 'TCP'", "usr = 'U'", "protocol = 'TCP' OR usr = 'U'", "protocol = 'TCP' AND usr = 'U'"],
    ["flag AND port < 3", "flag AND port >= 3", "flag AND port IS NOT NULL", "flag AND port IS NULL", "flag"],
    ["port < 4", "port < 7", "port BETWEEN 4 AND 6", ""],
]
"""Conditions that cover each other, in families."""
SEMANTICS = st.sampled_from(["no_restore", "no_restore", "restore"])


@st.composite
def sql_texts(draw, keys=KEYS, called=None, where=WHERE) -> str:
    keys = draw(keys)
    if called is None:
        called = draw(st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=2, unique=True))
    selected = [*keys, *(f"{call} AS a{number}" for number, call in enumerate(called))]
    condition = draw(where)
    window, slide = draw(st.integers(1, 12)), draw(st.integers(1, 6))
    text = f"SELECT {', '.join(selected)} FROM @{window}/{slide} "
    text += f"WHERE {condition} " if condition else ""
    return text + (f"GROUP BY {', '.join(keys)}" if keys else "")


@st.composite
def families(draw) -> list[str]:
    """One aggregate over conditions of one family, grouped alike or one key more."""
    called = [draw(st.sampled_from(AGGREGATES))]
    keys = draw(st.sampled_from([[], ["src"], ["flag", "src"]]))
    where = st.sampled_from(draw(st.sampled_from(RELATED)))
    texts = sql_texts(st.sampled_from([keys, keys, keys[::-1], keys[1:]]), called, where)
    return draw(st.lists(texts, min_size=3, max_size=7))


@st.composite
def query_sets(draw):
    free = st.lists(sql_texts(), min_size=2, max_size=6)
    texts = draw(st.one_of(free, families(), families()))
    return tuple(query(f"q{number}", text, semantics=draw(SEMANTICS)) for number, text in enumerate(texts))
