"""Hemiola: keeps hundreds of sliding-window questions fresh from one pass over the data.

import hemiola
hemiola.replay("configs/demo.yaml")
hemiola.query("configs/demo.yaml", "SELECT * FROM top_talkers")
"""

from __future__ import annotations

from hemiola.api import ask, explain, query, replay, simulate, validate
from queries.errors import HemiolaError, InputError, RunError

__all__ = ["HemiolaError", "InputError", "RunError", "ask", "explain", "query", "replay", "simulate", "validate"]
