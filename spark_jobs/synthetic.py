"""A seeded stream of network packets, made by Spark SQL alone: the source format ``synthetic``.

Record ``n`` is a pure function of (seed, n), and its time grows with ``n``: the same options give the same records
however Spark partitions them, and a range of time is made from the range of numbers that falls into it, without
making the rest. Values are skewed like traffic is: rank ``floor(size · u^skew)`` for u uniform in [0, 1), so the
heaviest of 1,000 values has a tenth of the records at skew 3. In a burst one source floods one destination.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from queries.model import Microseconds
from queries.synthetic import SyntheticOptions

_SECOND = 1_000_000
_PROTOCOLS = (
    "TCP", "UDP", "ICMP", "GRE", "ESP", "AH", "SCTP", "OSPF", "IGMP", "PIM", "VRRP", "EIGRP", "L2TP", "IPIP", "RSVP",
    "DCCP", "UDPLITE", "ETHERIP",
)  # fmt: skip
_PORTS = (443, 80, 53, 22, 25, 123, 3306, 5432, 6379, 8080, 8443, 9092, 389, 161, 445, 3389)
_FIRST_OTHER_PORT = 49_152
_HOSTS = 254


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
