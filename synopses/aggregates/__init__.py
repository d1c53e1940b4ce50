"""The aggregates of the language, each as what it keeps and how it is lowered to an answer.

Adding one: a file here with an object of protocol ``Aggregate``, a line in ``AGGREGATES`` below, and its signature
in ``queries.functions``.
"""

from __future__ import annotations

from synopses.aggregates.approx_count_distinct import APPROX_COUNT_DISTINCT
from synopses.aggregates.approx_quantile import APPROX_QUANTILE
from synopses.aggregates.approx_top_k import APPROX_TOP_K
from synopses.aggregates.average import AVG
from synopses.aggregates.counting import COUNT
from synopses.aggregates.distinct import COUNT_DISTINCT
from synopses.aggregates.extremes import MAX, MIN
from synopses.aggregates.lowering import Aggregate, Counters
from synopses.aggregates.quantiles import QUANTILE, QUANTILE_CONT
from synopses.aggregates.spread import STDDEV_POP, STDDEV_SAMP, VAR_POP, VAR_SAMP
from synopses.aggregates.sums import SUM
from synopses.aggregates.top_k_lists import TOP_K_LISTS

AGGREGATES: dict[str, Aggregate] = {
    "COUNT": COUNT,
    "SUM": SUM,
    "AVG": AVG,
    "MIN": MIN,
    "MAX": MAX,
    "VAR_SAMP": VAR_SAMP,
    "VAR_POP": VAR_POP,
    "STDDEV_SAMP": STDDEV_SAMP,
    "STDDEV_POP": STDDEV_POP,
    "COUNT_DISTINCT": COUNT_DISTINCT,
    "QUANTILE": QUANTILE,
    "QUANTILE_CONT": QUANTILE_CONT,
    "APPROX_COUNT_DISTINCT": APPROX_COUNT_DISTINCT,
    "APPROX_QUANTILE": APPROX_QUANTILE,
    "APPROX_TOP_K": APPROX_TOP_K,
    "TOP_K_LISTS": TOP_K_LISTS,
}

__all__ = ["AGGREGATES", "Aggregate", "Counters"]
