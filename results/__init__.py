"""Where answers go: typed tables, one transaction per update, read-only queries."""

from results.location import open_store
from results.reader import ReadResult, read
from results.render import render
from results.store import Refresh, ResultsStore, ResultsUnavailable, StreamProgress, Update

__all__ = [
    "ReadResult",
    "Refresh",
    "ResultsStore",
    "ResultsUnavailable",
    "StreamProgress",
    "Update",
    "open_store",
    "read",
    "render",
]
