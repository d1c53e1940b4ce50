"""How is it done on Spark? The session, the sources and the pre-aggregation of new intervals."""
