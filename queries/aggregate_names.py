"""Names of aggregate functions: ours under every spelling, and those of Spark that Hemiola refuses by name."""

from __future__ import annotations

from queries.functions import AGGREGATES, ALIASES

OURS: dict[str, str] = {
    **{name.lower(): name for name in AGGREGATES if name != "COUNT_DISTINCT"},
    **{alias.lower(): name for alias, name in ALIASES.items()},
    "std": "STDDEV_SAMP",
    "median": "MEDIAN",
}
"""Lower-case spelling → key of ``AGGREGATES`` (MEDIAN is resolved to QUANTILE_CONT by the binder)."""

REMEDIES: dict[str, str] = {
    "percentile": "QUANTILE_CONT(x, q) interpolates as PERCENTILE does; QUANTILE(x, q) picks a value of the data",
    "percentile_cont": "write QUANTILE_CONT(x, q)",
    "percentile_disc": "write QUANTILE(x, q)",
    "quantile_disc": "write QUANTILE(x, q)",
    "approx_distinct": "write APPROX_COUNT_DISTINCT(x)",
    "approx_percentile": "write APPROX_QUANTILE(x, q)",
    "percentile_approx": "write APPROX_QUANTILE(x, q)",
    "count_if": "write COUNT(*) FILTER (WHERE condition)",
    "countif": "write COUNT(*) FILTER (WHERE condition)",
    "bool_and": "write MIN(x)",
    "every": "write MIN(x)",
    "bool_or": "write MAX(x)",
    "any": "write MAX(x)",
    "some": "write MAX(x)",
    "count_distinct": "write COUNT(DISTINCT x)",
}

_SPARKS = frozenset(
    """
    any_value array_agg bit_and bit_or bit_xor bitmap_construct_agg bitmap_or_agg collect_list collect_set corr
    count_min_sketch covar_pop covar_samp first first_value grouping grouping_id histogram_numeric
    hll_sketch_agg hll_union_agg kurtosis last last_value listagg max_by min_by mode product regr_avgx regr_avgy
    regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy schema_of_json_agg skewness string_agg
    sum_distinct try_avg try_sum approx_top_k_accumulate approx_top_k_combine kll_sketch_agg_bigint
    kll_sketch_agg_double kll_sketch_agg_float theta_sketch_agg theta_union_agg theta_intersection_agg
    """.split()
)

UNAVAILABLE = _SPARKS | (frozenset(REMEDIES) - {"any", "some"})
"""Aggregates the user may know from elsewhere and that Hemiola does not have."""

AGGREGATE_NAMES = frozenset(OURS) | UNAVAILABLE
