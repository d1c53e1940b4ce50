"""Sketches (Apache DataSketches) as components of the algebra: distinct counts, quantiles, frequent items."""
