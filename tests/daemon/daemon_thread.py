"""A daemon on a thread of the test, on the tests' own Spark session: what needs no process of its own is faster so."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hemiola import validate
from hemiola.running import Daemon as Running
from hemiola.state_folder import socket_path
from tests.daemon.daemon_process import Daemon
from tests.daemon.waiting import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class ThreadDaemon(Daemon):
    """As ``Daemon``; ``stop`` is an orderly one."""

    def use(self, spark: SparkSession) -> ThreadDaemon:
        self._spark = spark
        return self

    def start(self) -> None:
        made = threading.Event()
        self.failure: BaseException | None = None

        def run() -> None:
            try:
                self.running = Running(validate(self.config), self._spark)
                made.set()
                self.running.run()
            except BaseException as error:
                traceback.print_exc()
                self.failure = error
                made.set()

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        made.wait(30)
        if self.failure is not None:
            raise self.failure
        control = socket_path(self.running.config.state)
        self.wait("its control socket", lambda: self.running.snapshot and control.exists())

    def stop(self, patience: float = 60) -> int:
        self.running.stop()
        self._thread.join(patience)
        assert not self._thread.is_alive()
        if self.failure is not None:
            raise self.failure
        return 0

    def wait(self, what: str, reached: Callable[[], Any], patience: float = 120) -> Any:
        def checked() -> Any:
            if self.failure is not None:
                raise self.failure
            return reached()

        try:
            return until(checked, patience)
        except TimeoutError:
            raise AssertionError(f"waited in vain for {what}; {self.running.snapshot}") from None
