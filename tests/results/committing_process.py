"""A process of its own that commits update after update and says so, until it is stopped or killed.

Each update refreshes three queries; query i has (number of the update) % 5 + i rows, each holding that number.
With a second argument it kills itself in the fourth update, when it is about to run the statement that begins so.
"""

from __future__ import annotations

import os
import signal
import sys
from itertools import count
from pathlib import Path

from queries.types import Type
from results.sqlite_store import SqliteStore
from tests.results.sample_answers import MINUTE, START, query, refresh, table, update

NAMES = ("first", "second", "third")


def rows_of(number: int, position: int) -> int:
    return number % 5 + position


def main(database: str, deadly: str | None = None) -> None:
    def die(statement: str) -> None:
        if deadly is not None and statement.startswith(deadly):
            os.kill(os.getpid(), signal.SIGKILL)

    with SqliteStore(Path(database)) as store:
        store.register([query(name, keys={"src": Type.INT}) for name in NAMES], START)
        for number in count(1):
            end = START + number * MINUTE
            refreshes = (
                refresh(name, end, table(src=list(range(n)), bytes=[number] * n))
                for name, n in ((name, rows_of(number, i)) for i, name in enumerate(NAMES))
            )
            if number == 4:
                store._connection.set_trace_callback(die)
            store.commit(update(end, *refreshes, records=number))
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
