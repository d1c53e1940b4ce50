"""What people use today for the same questions, each as its own users would write it.

``tables``: DuckDB, Polars and Spark SQL, one query per refresh. ``spark_streaming``, ``flink`` and
``bytewax_dataflow``: one sliding-window query per registered query. Which of the optional ones are there says
``installed``.
"""
