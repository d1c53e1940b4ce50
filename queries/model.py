"""The model of a registered query: frozen values, no behaviour beyond what they say of themselves.

Times and lengths of time are integers in microseconds since the Unix epoch (UTC).

A query is a tree of ``Select`` whose leaf reads a stream. What stands on the record level (WHERE, keys and
aggregate arguments of the innermost ``Select``) is a ``Scalar``: canonical Spark SQL text, evaluated by Spark.
What stands above an aggregate (output columns, HAVING, ORDER BY, and everything of an outer ``Select``) is an
``Expression`` tree, evaluated in the driver on a few rows per group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime

from queries.types import Type

Microseconds = int


@dataclass(frozen=True)
class Scalar:
    """A record-level expression: canonical Spark SQL, its type, the stream columns it reads (sorted)."""

    sql: str
    type: Type
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Ref:
    """A column of the table an expression is evaluated on: ``k0`` (key), ``a1`` (aggregate), or an inner output."""

    name: str
    type: Type


@dataclass(frozen=True)
class Literal:
    value: bool | int | float | str | date | datetime | None
    type: Type


@dataclass(frozen=True)
class Call:
    """An operator or function of ``queries.functions.OPERATORS`` applied to arguments."""

    op: str
    args: tuple[Expression, ...]
    type: Type


Expression = Ref | Literal | Call
Value = Scalar | Ref | Literal | Call


@dataclass(frozen=True)
class AggregateCall:
    """``function`` is a key of ``queries.functions.AGGREGATES``; COUNT(*) has no argument.

    ``parameters`` are the literal arguments after the first (the q of QUANTILE). An approximate aggregate has several
    columns, each a call of its own that differs in ``part``: "" (the answer), "low" and "high" (its bounds), and for
    the top-k kind "count" and "delta". ``weight`` is what TOP_K_LISTS adds up instead of counting records.
    """

    function: str
    argument: Value | None
    parameters: tuple[float, ...]
    type: Type
    part: str = ""
    weight: Value | None = None


@dataclass(frozen=True)
class Output:
    """One column of the answer. ``key`` says it is one of the group keys, unchanged."""

    name: str
    value: Expression
    key: bool

    @property
    def type(self) -> Type:
        return self.value.type


@dataclass(frozen=True)
class Order:
    """One ORDER BY term. NULLs come first ascending and last descending unless said otherwise (as in Spark)."""

    value: Expression
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class StreamWindow:
    stream: str
    window: Microseconds
    slide: Microseconds


@dataclass(frozen=True)
class Select:
    """One level of a query.

    ``keys[i]`` is named ``k{i}`` and ``aggregates[i]`` is named ``a{i}`` in ``outputs``, ``having`` and ``order``.
    Over a stream, ``where``, ``keys`` and aggregate arguments are ``Scalar``; over a ``Select`` they are
    ``Expression`` whose ``Ref`` names are the inner outputs.
    """

    source: StreamWindow | Select
    where: Value | None
    keys: tuple[Value, ...]
    aggregates: tuple[AggregateCall, ...]
    outputs: tuple[Output, ...]
    having: Expression | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None

    @property
    def ordered(self) -> bool:
        return bool(self.order)

    @property
    def leaf(self) -> Select:
        """The innermost Select, the one over the stream."""
        return self.source.leaf if isinstance(self.source, Select) else self

    def aggregate_at(self, value: Value) -> AggregateCall | None:
        """The aggregate of this level that an expression over its groups is; None if it is anything more or else."""
        if isinstance(value, Ref) and value.name.startswith("a"):
            return self.aggregates[int(value.name[1:])]
        return None


@dataclass(frozen=True)
class Query:
    """A registered periodic query."""

    name: str
    sql: str
    select: Select
    semantics: str = "no_restore"
    priority: int = 0
    until: Microseconds | None = None
    synopsis: str | None = None
    placement: str = "auto"
    consistent: str | None = None
    place: str = field(default="", compare=False, repr=False)
    """Where its ``synopsis:`` key, or else its name, stands: ``file:line:col``; for errors found when planning."""

    @property
    def resident(self) -> bool:
        """Whether its synopses live in Spark."""
        return self.placement == "spark"

    @property
    def from_(self) -> StreamWindow:
        source = self.select.leaf.source
        assert isinstance(source, StreamWindow)
        return source

    @property
    def stream(self) -> str:
        return self.from_.stream

    @property
    def window(self) -> Microseconds:
        return self.from_.window

    @property
    def slide(self) -> Microseconds:
        return self.from_.slide


@dataclass(frozen=True)
class Column:
    name: str
    type: Type


@dataclass(frozen=True)
class Source:
    """Where records come from: a Spark data source, or ``synthetic`` (seeded packets, no path)."""

    format: str
    path: str | None = None
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Stream:
    name: str
    source: Source
    schema: tuple[Column, ...]
    time: str
    interval: Microseconds
    lateness: Microseconds = 0
    retain: Microseconds | None = None
    weight: float = 1.0
    idle_timeout: Microseconds | None = None

    @property
    def types(self) -> dict[str, Type]:
        return {column.name: column.type for column in self.schema}


@dataclass(frozen=True)
class SchedulerSettings:
    policy: str = "hybrid"
    sharing: str = "late_pending"
    idle: str = "wait"
    admission: str = "warn"


@dataclass(frozen=True)
class SparkSettings:
    """``master``: None for what spark-submit was told, without it for all cores of this machine. ``storage``: where
    synopses that live in Spark are kept, a path or URI that the driver and all executors see; None: in the state
    folder."""

    master: str | None = None
    conf: tuple[tuple[str, str], ...] = ()
    storage: str | None = None


@dataclass(frozen=True)
class Config:
    """A whole, checked configuration. ``path`` is the file it came from; relative paths are already resolved
    against that file's folder. ``Stream.interval`` is always set (given, or the gcd of windows and slides).

    ``lake``: the folder of answers too large for ``results``. ``metrics_port``: where the daemon serves metrics (0: any
    free port). ``audit``: the share of refreshes it computes again from raw records. ``driver_memory_share``: the share
    of the machine's memory that synopses in the driver may take before they move to Spark."""

    path: str
    state: str
    results: str
    streams: tuple[Stream, ...]
    queries: tuple[Query, ...]
    scheduler: SchedulerSettings = SchedulerSettings()
    spark: SparkSettings = SparkSettings()
    results_keep: Microseconds | None = None
    metrics_port: int | None = None
    audit: float = 0.0
    lake: str | None = None
    driver_memory_share: float = 0.25

    @property
    def storage(self) -> str:
        """Where synopses that live in Spark are kept."""
        return self.spark.storage or f"{self.state}/resident"

    def stream(self, name: str) -> Stream:
        return next(stream for stream in self.streams if stream.name == name)

    def query(self, name: str) -> Query:
        return next(query for query in self.queries if query.name == name)

    def queries_on(self, stream: str) -> Iterator[Query]:
        return (query for query in self.queries if query.stream == stream)
