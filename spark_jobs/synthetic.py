"""A seeded stream of network packets, made by Spark SQL alone: the source format ``synthetic``.

Record ``n`` is a pure function of (seed, n), and its time grows with ``n``: the same options give the same records
however Spark partitions them, and a range of time is made from the range of numbers that falls into it, without
making the rest. Values are skewed like traffic is: rank ``floor(size · u^skew)`` for u uniform in [0, 1), so the
heaviest of 1,000 values has a tenth of the records at skew 3. In a burst one source floods one destination.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from queries.errors import RunError
from queries.model import Microseconds

_SECOND = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PROTOCOLS = (
    "TCP", "UDP", "ICMP", "GRE", "ESP", "AH", "SCTP", "OSPF", "IGMP", "PIM", "VRRP", "EIGRP", "L2TP", "IPIP", "RSVP",
    "DCCP", "UDPLITE", "ETHERIP",
)  # fmt: skip
_PORTS = (443, 80, 53, 22, 25, 123, 3306, 5432, 6379, 8080, 8443, 9092, 389, 161, 445, 3389)
_FIRST_OTHER_PORT = 49_152
_HOSTS = 254
_MOST = {"sources": _HOSTS**3, "destinations": _HOSTS**2, "ports": 16_384, "protocols": 100}


@dataclass(frozen=True)
class SyntheticOptions:
    """``start`` is in microseconds, lengths of time in seconds, ``rate`` in records per second.

    From second ``burst_at``, for ``burst_seconds``, the stream carries ``burst_factor`` times its usual rate; all
    that is more comes from one source and goes to one destination.
    """

    seed: int = 1
    start: Microseconds = 1_767_225_600 * _SECOND
    seconds: int = 600
    rate: int = 1_000
    sources: int = 1_000
    destinations: int = 1_000
    ports: int = 100
    protocols: int = 3
    skew: float = 3.0
    burst_at: int = 0
    burst_seconds: int = 0
    burst_factor: float = 5.0

    @property
    def burst_rate(self) -> int:
        """Records per second that a burst adds."""
        return round(self.rate * (self.burst_factor - 1)) if self.burst_seconds else 0

    @property
    def until(self) -> Microseconds:
        """No record is at or after this time."""
        return self.start + self.seconds * _SECOND


def synthetic_options(given: tuple[tuple[str, str], ...], stream: str) -> SyntheticOptions:
    """The options of a source in the config; a wrong one is an error that names the stream."""
    defaults = SyntheticOptions()
    kinds = {field.name: type(getattr(defaults, field.name)) for field in fields(SyntheticOptions)}
    values: dict[str, int | float] = {}
    for name, text in given:
        if name not in kinds:
            near = difflib.get_close_matches(name, kinds, n=1)
            hint = f"did you mean {near[0]}?" if near else f"the options are {', '.join(kinds)}"
            raise RunError(f"stream {stream}: the synthetic source has no option {name}", hint=hint)
        try:
            values[name] = _instant(text) if name == "start" else kinds[name](text)
        except ValueError as error:
            what = "a time like 2026-01-01T00:00:00Z" if name == "start" else "a number"
            raise RunError(f"stream {stream}: option {name} is {text!r}, not {what}") from error
    options = SyntheticOptions(**values)  # type: ignore[arg-type]
    wrong = _out_of_range(options)
    if wrong:
        raise RunError(f"stream {stream}: option {wrong}")
    return options


def _instant(text: str) -> Microseconds:
    moment = datetime.fromisoformat(text)
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _out_of_range(options: SyntheticOptions) -> str | None:
    for name in ("seconds", "rate", *_MOST):
        if getattr(options, name) < 1:
            return f"{name} must be at least 1"
    for name, most in _MOST.items():
        if getattr(options, name) > most:
            return f"{name} must be at most {most}"
    if options.rate > _SECOND or options.burst_rate > _SECOND:
        return f"rate, also in a burst, must be at most {_SECOND} records per second"
    if not 1 <= options.skew <= 100:
        return "skew must be from 1 (uniform) to 100"
    if options.burst_factor < 1:
        return "burst_factor must be at least 1"
    if options.burst_at < 0 or options.burst_seconds < 0 or options.burst_at + options.burst_seconds > options.seconds:
        return "burst_at and burst_seconds must lie within the stream's seconds"
    return None


def packets(
    spark: SparkSession,
    options: SyntheticOptions,
    from_us: Microseconds | None = None,
    until_us: Microseconds | None = None,
) -> DataFrame:
    """The packets with ``from_us`` <= ts < ``until_us``: ts TIMESTAMP, src STRING, dst STRING, protocol STRING,
    port INT, length BIGINT. Their order is not defined."""
    usual = _records(spark, options, options.start, options.seconds, options.rate, "usual", from_us, until_us)
    if not options.burst_rate:
        return usual
    start = options.start + options.burst_at * _SECOND
    return usual.unionAll(
        _records(spark, options, start, options.burst_seconds, options.burst_rate, "burst", from_us, until_us)
    )


def _records(
    spark: SparkSession,
    options: SyntheticOptions,
    start: Microseconds,
    seconds: int,
    rate: int,
    kind: str,
    from_us: Microseconds | None,
    until_us: Microseconds | None,
) -> DataFrame:
    """Record n lies at a random moment of its own slot ``[start + n/rate, start + (n+1)/rate)``."""
    first, last = 0, seconds * rate
    if from_us is not None:
        first = max(first, (from_us - start) * rate // _SECOND - 1)
    if until_us is not None:
        last = min(last, (until_us - start) * rate // _SECOND + 2)
    n = F.col("id")

    def uniform(what: str) -> Column:
        """Uniform in [0, 1), from the upper 53 bits of a hash."""
        bits = F.shiftrightunsigned(F.xxhash64(n, F.lit(options.seed), F.lit(kind), F.lit(what)), 11)
        return bits.cast("double") * F.lit(2.0**-53)

    def rank(what: str, size: int) -> Column:
        skewed = F.floor(F.lit(float(size)) * F.pow(uniform(what), F.lit(options.skew)))
        return F.least(skewed, F.lit(size - 1)).cast("bigint")

    slot = F.lit(start) + F.expr(f"id * {_SECOND} div {rate}")
    moment = slot + F.floor(uniform("moment") * F.lit(_SECOND // rate)).cast("bigint")
    made = spark.range(first, max(first, last)).select(n, moment.alias("us"))
    if from_us is not None:
        made = made.where(F.col("us") >= F.lit(from_us))
    if until_us is not None:
        made = made.where(F.col("us") < F.lit(until_us))
    flood = kind == "burst"
    src = F.lit(options.sources // 2) if flood else rank("src", options.sources)
    dst = F.lit(options.destinations // 2) if flood else rank("dst", options.destinations)
    return made.select(
        F.timestamp_micros("us").alias("ts"),
        _address(src, "10.", 3).alias("src"),
        _address(dst, "192.168.", 2).alias("dst"),
        _name_of(rank("protocol", options.protocols)).alias("protocol"),
        _port_of(rank("port", options.ports)).alias("port"),
        (F.lit(40) + F.floor(F.lit(1461.0) * F.pow(uniform("length"), F.lit(2.0)))).cast("bigint").alias("length"),
    )


def _address(rank: Column, network: str, places: int) -> Column:
    """The rank as the last places of a dotted address; the last one starts at 1."""
    digits = [F.pmod(F.floor(rank / F.lit(_HOSTS**place)), F.lit(_HOSTS)) for place in range(places)]
    digits[0] = digits[0] + F.lit(1)
    return F.concat(F.lit(network), F.concat_ws(".", *[digit.cast("string") for digit in reversed(digits)]))


def _name_of(rank: Column) -> Column:
    known = F.array(*[F.lit(name) for name in _PROTOCOLS])
    return F.coalesce(F.get(known, rank.cast("int")), F.concat(F.lit("PROTO"), rank.cast("string")))


def _port_of(rank: Column) -> Column:
    known = F.array(*[F.lit(port) for port in _PORTS])
    return F.coalesce(F.get(known, rank.cast("int")), (F.lit(_FIRST_OTHER_PORT) + rank).cast("int"))
