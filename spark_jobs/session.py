"""Opening and closing Spark, and saying in one readable line what went wrong inside it.

The JVM's own output goes to the logger ``spark_jobs.jvm`` (level INFO) instead of the terminal: what it has to
say to a user arrives as a ``RunError``.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException, PythonException
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from queries.errors import RunError
from queries.model import SparkSettings
from spark_jobs.shipping import ARCHIVE, write_archive

logger = logging.getLogger(__name__)
jvm_logger = logging.getLogger("spark_jobs.jvm")

_OLDEST_JAVA = 17
_TIME_ZONE = "spark.sql.session.timeZone"
_WORKER_PYTHON = "spark.pyspark.python"
_PY_FILES = "spark.submit.pyFiles"
_MASTER = "spark.master"
_LOCAL = "local[*]"
_NO_LIMIT = str(2**31 - 1)
"""Any other limit on the bytes of a batch makes Spark measure the batch after every record that it hands to a Python
worker, which takes more than half of the time of handing them over. Batches have 10,000 records at most."""
_PYSPARK_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_jvm_tail: deque[str] = deque(maxlen=40)
_REMEMBERED = {
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "200",
    "spark.sql.ui.retainedExecutions": "5",
    "spark.sql.streaming.numRecentProgressUpdates": "5",
    "spark.sql.streaming.minBatchesToRetain": "20",
    "spark.sql.streaming.fileSource.log.compactInterval": "100",
    "spark.sql.streaming.fileSource.log.cleanupDelay": "1m",
}
"""Spark keeps the last thousand jobs and plans for its web interface, also where that is off: with a micro-batch a
second the heap would grow for a quarter of an hour. Its log of files read is written anew every tenth batch, each copy
kept for ten minutes: with a file a second a day's copies would take 700 MB."""


def open_session(settings: SparkSettings, app_name: str = "hemiola") -> SparkSession:
    """A Spark session in UTC with quiet logs; ``settings`` win over what spark-submit was told, and that over every
    default but the time zone.

    When Spark already runs in this process its context is used, under a session of its own: SQL settings and
    temporary views do not leak between callers. Workers on other machines get our packages sent, unless
    spark.submit.pyFiles says what to send.
    """
    running = SparkSession.getActiveSession()
    if running is not None and SparkContext._active_spark_context is not None:
        conf = configuration(settings, running.sparkContext.master or _LOCAL, {})
        session = running.newSession()
        for key, value in conf.items():
            if session.conf.isModifiable(key):
                session.conf.set(key, value)
        return session

    for name in _PYSPARK_LOGGERS:
        # They print every exception, with the JVM's stack, on the terminal: wrap_spark_errors reports it once.
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)
    java_home = find_java_home()
    os.environ["JAVA_HOME"] = java_home
    began = time.monotonic()
    submitted = _submitted()
    master = settings.master or submitted.get(_MASTER) or _LOCAL
    conf = configuration(settings, master, submitted)
    if _WORKER_PYTHON in conf or _is_local(master):
        os.environ["PYSPARK_PYTHON"] = conf.get(_WORKER_PYTHON, sys.executable)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if _on_this_machine(master):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark_conf = SparkConf(loadDefaults=False).setMaster(master).setAppName(app_name)
    spark_conf.setAll([(key, value) for key, value in conf.items() if key != _MASTER])
    with wrap_spark_errors("Spark did not start"):
        if SparkContext._gateway is None:
            SparkContext._ensure_initialized(gateway=_launch_quietly(spark_conf), conf=spark_conf)
        session = SparkSession.builder.config(conf=spark_conf).getOrCreate()
        session.sparkContext.setLogLevel(conf["spark.log.level"])
        if not _is_local(master) and not conf.get(_PY_FILES):
            _send_packages(session.sparkContext)
    logger.info(
        "Spark %s on %s started in %.1f s (Java in %s)",
        session.version, master, time.monotonic() - began, java_home,
    )  # fmt: skip
    return session


@contextmanager
def spark_session(settings: SparkSettings, app_name: str = "hemiola") -> Iterator[SparkSession]:
    """``open_session`` for a ``with`` block. Spark is stopped at its end only if this block has started it."""
    shared = SparkContext._active_spark_context is not None
    session = open_session(settings, app_name)
    try:
        yield session
    finally:
        if not shared:
            session.stop()


def _submitted() -> dict[str, str]:
    """What spark-submit was told, where it has started this process."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return {}
    SparkContext._ensure_initialized()
    return dict(SparkConf(_jvm=SparkContext._jvm).getAll())


def _send_packages(context: SparkContext) -> None:
    """So that all workers run this process's version of them, installed there or not."""
    folder = tempfile.mkdtemp(prefix="hemiola-packages-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # executors that come later fetch it as well
    archive = Path(folder, ARCHIVE)
    write_archive(archive)
    path = list(sys.path)
    context.addPyFile(str(archive))
    sys.path[:] = path  # here they are imported from where they are installed


def _is_local(master: str) -> bool:
    return master.startswith("local")


def _on_this_machine(master: str) -> bool:
    return _is_local(master) or re.match(r"spark://(localhost|127\.[\d.]+)(:\d+)?$", master) is not None


def _local_cores(master: str) -> int:
    given = re.match(r"local\[(\d+)", master)
    if given:
        return int(given.group(1))
    return 1 if master == "local" else os.cpu_count() or 1


def configuration(settings: SparkSettings, master: str, submitted: Mapping[str, str]) -> dict[str, str]:
    """All that is set: by the settings, else as ``submitted``, else as is good on this master."""
    conf = {
        _TIME_ZONE: "UTC",
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxBytesPerBatch": _NO_LIMIT,
        "spark.scheduler.mode": "FAIR",
        **_REMEMBERED,
    }
    if _on_this_machine(master):
        conf |= {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
        }
    if _is_local(master):
        conf |= {
            "spark.sql.warehouse.dir": os.path.join(tempfile.gettempdir(), "hemiola-warehouse"),
            "spark.sql.shuffle.partitions": str(max(2, min(16, _local_cores(master)))),
        }
    given = {**submitted, **dict(settings.conf)}
    if given.get(_TIME_ZONE, "UTC") != "UTC":
        raise RunError(
            f"Spark's configuration sets {_TIME_ZONE} to {given[_TIME_ZONE]}, but windows are cut in UTC",
            hint="remove the setting; convert times where the answers are shown",
        )
    return conf | given


def find_java_home() -> str:
    """The home of a Java that can run Spark: JAVA_HOME, the one on PATH, or the one ``make setup`` found."""
    candidates: list[Path] = []
    if os.environ.get("JAVA_HOME"):
        candidates.append(Path(os.environ["JAVA_HOME"], "bin", "java"))
    on_path = shutil.which("java")
    if on_path:
        candidates.append(Path(on_path))
    remembered = Path(sys.prefix, "java-home")
    if remembered.is_file():
        candidates.append(Path(remembered.read_text(encoding="utf-8").strip(), "bin", "java"))
    seen: list[str] = []
    for java in candidates:
        home, version = _java_facts(java)
        if home and version >= _OLDEST_JAVA:
            return home
        seen.append(f"{java} is version {version}" if home else f"{java} does not run")
    found = f" ({'; '.join(seen)})" if seen else ""
    raise RunError(
        f"Spark needs Java {_OLDEST_JAVA} or newer, and none was found{found}",
        hint="run `make setup`, install one (Debian: apt-get install openjdk-17-jre-headless), or set JAVA_HOME",
    )


def _java_facts(java: Path) -> tuple[str, int]:
    """The java.home and major version that this binary reports; ("", 0) if it does not run."""
    try:
        shown = subprocess.run(
            [str(java), "-XshowSettings:properties", "-version"], capture_output=True, text=True, timeout=60, check=True
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return "", 0
    home = re.search(r"^\s*java\.home = (.+)$", shown, re.MULTILINE)
    version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", shown, re.MULTILINE)
    return (home.group(1).strip(), int(version.group(1))) if home and version else ("", 0)


def _launch_quietly(conf: SparkConf) -> JavaGateway:
    """Starts the JVM with its output in our log."""
    reading, writing = os.pipe()
    heard = os.fdopen(reading, encoding="utf-8", errors="replace")
    threading.Thread(target=_listen, args=(heard,), name="jvm-output", daemon=True).start()
    with os.fdopen(writing, "wb") as output:
        started = {"stdout": output, "stderr": output}
        return launch_gateway(conf, popen_kwargs=started)  # type: ignore[no-untyped-call]


def _listen(output: IO[str]) -> None:
    for line in output:
        _jvm_tail.append(line.rstrip())
        jvm_logger.info("%s", line.rstrip())


_HINTS = {
    "UNRESOLVED_COLUMN": "compare the name with the stream's schema in the config",
    "UNRESOLVED_ROUTINE": "compare the function's name with Spark SQL's",
    "PATH_NOT_FOUND": "check the path of the source in the config",
    "CAST_INVALID_INPUT": "use TRY_CAST to get NULL for values that do not fit",
    "CAST_OVERFLOW": "use TRY_CAST to get NULL for values that do not fit",
    "ARITHMETIC_OVERFLOW": "cast an operand to a wider type, for example CAST(x AS DOUBLE)",
    "BINARY_ARITHMETIC_OVERFLOW": "cast an operand to a wider type, for example CAST(x AS BIGINT)",
    "DIVIDE_BY_ZERO": "divide by NULLIF(x, 0) to get NULL instead",
    "DATATYPE_MISMATCH": "cast one side to the type of the other",
    "FAILED_READ_FILE": "check that the file is whole and of the format the config says",
    "CANNOT_READ_FILE": "check that the file is whole and of the format the config says",
    "DATA_SOURCE_NOT_FOUND": "check the format's name, or name its package in spark.conf: spark.jars.packages",
    "JAVA_GATEWAY_EXITED": "check spark.conf in the config and the memory this machine has free",
}
_LOST = "Spark's JVM is gone"


@contextmanager
def wrap_spark_errors(doing: str | None = None) -> Iterator[None]:
    """Turns what PySpark and Py4J raise into a ``RunError`` with one readable line and, where known, a remedy."""
    try:
        yield
    except Py4JNetworkError as error:
        raise RunError(_line(doing, _LOST), hint=_last_words() or "check the memory this machine has free") from error
    except (PySparkException, Py4JError) as error:
        condition, message = _cause(error)
        hint = next((hint for start, hint in _HINTS.items() if condition.startswith(start)), None)
        if condition == "JAVA_GATEWAY_EXITED":
            message = _last_words() or message
        raise RunError(_line(doing, message), hint=hint) from error


def _line(doing: str | None, message: str) -> str:
    return f"{doing}: {message}" if doing else message


def _last_words() -> str:
    """The JVM's last complaint, if it had one."""
    complaints = [line for line in _jvm_tail if re.search(r"error|exception|invalid|could not", line, re.IGNORECASE)]
    return complaints[-1].strip() if complaints else ""


def _cause(error: Exception) -> tuple[str, str]:
    """Spark's error condition ("" if it has none) and the first line of the message that names it."""
    texts = [str(error)]
    condition = error.getCondition() or "" if isinstance(error, PySparkException) else ""
    if isinstance(error, Py4JJavaError):
        texts = []
        thrown = error.java_exception
        while thrown is not None and len(texts) < 20:
            texts.append(str(thrown.getMessage() or thrown.getClass().getSimpleName()))
            thrown = thrown.getCause()
        texts.reverse()
    if isinstance(error, PythonException):
        raised = [line for line in texts[0].splitlines() if re.match(r"\s*[\w.]+(Error|Exception|Interrupt)?: ", line)]
        return condition, f"Python on a Spark worker failed: {raised[-1].strip() if raised else texts[0][-200:]}"
    for text in texts:
        named = re.search(r"\[([A-Z][A-Z0-9_.]+)\] *(\S.*)", text)
        if named:
            return condition or named.group(1), _tidy(named.group(2))
    first = next((line for text in texts for line in text.splitlines() if line.strip()), type(error).__name__)
    return condition, _tidy(first)


_SPARKS_ADVICE = r"\s*(SQLSTATE: \w+|If necessary set \S+ to|Correct the value as per|Use [`']try_\w+[`'] to).*$"


def _tidy(line: str) -> str:
    """Without the SQLSTATE and the advice that our own hint gives."""
    line = re.sub(_SPARKS_ADVICE, "", line).strip()
    return re.sub(r"^overflow\b", "Arithmetic overflow", line)
