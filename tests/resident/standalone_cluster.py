"""A real standalone cluster on the loopback interface: one master, some workers, each a process (group) of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.request import urlopen

import pyspark

from spark_jobs.session import find_java_home
from tests.daemon.waiting import until

HOST = "127.0.0.1"
SPARK_HOME = Path(pyspark.__file__).parent
PATIENCE = 300.0
SMALL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class Cluster:
    """``work`` is the folder of logs and of the workers' own folders."""

    def __init__(self, work: Path, workers: int = 2) -> None:
        self.work = work
        self.url = f"spark://{HOST}:{free_port()}"
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        self._wanted = workers

    def __enter__(self) -> Self:
        self.work.mkdir(parents=True, exist_ok=True)
        address = ["--host", HOST, "--port", self.url.rpartition(":")[2], "--webui-port", "0"]
        self._master = self._start("master", "org.apache.spark.deploy.master.Master", *address)
        try:
            until(lambda: "I have been elected leader" in self.log("master"), PATIENCE)
            for _ in range(self._wanted):
                self.add_worker(wait=False)
            until(lambda: self._registered() == self._wanted, PATIENCE)
        except BaseException:
            self.stop()
            raise
        return self

    def add_worker(self, wait: bool = True) -> str:
        """One more worker with one core; its name."""
        name = f"worker-{len(list(self.work.glob('worker-*.log')))}"
        options = ["--host", HOST, "--webui-port", "0", "--cores", "1", "--memory", "1g"]
        options += ["--work-dir", str(self.work / name)]
        process = self._start(name, "org.apache.spark.deploy.worker.Worker", *options, self.url)
        before = self._registered()
        self.workers[name] = process
        if wait:
            until(lambda: self._registered() > before, PATIENCE)
        return name

    def executor(self, worker: str) -> str | None:
        """The newest executor that this worker has started."""
        started = sorted((folder.parent.name, int(folder.name)) for folder in (self.work / worker).glob("app-*/*"))
        return str(started[-1][1]) if started else None

    def freeze(self, worker: str) -> None:
        """Stops the worker and its executors in their tracks: of what they are at, nobody hears any more."""
        os.killpg(self.workers[worker].pid, signal.SIGSTOP)

    def thaw(self, worker: str) -> None:
        os.killpg(self.workers[worker].pid, signal.SIGCONT)

    def kill(self, worker: str) -> None:
        """The worker and its executors, without a word to anybody; Python of theirs may go on for a while."""
        process = self.workers.pop(worker)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def log(self, name: str) -> str:
        return (self.work / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def _registered(self) -> int:
        return self.log("master").count("Registering worker ")

    def _start(self, name: str, kind: str, *arguments: str) -> subprocess.Popen[bytes]:
        (self.work / f"{name}.log").touch()
        java = find_java_home()
        environment = {
            **os.environ,
            "JAVA_HOME": java,
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_LOCAL_IP": HOST,
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": SMALL,
        }
        command = [str(SPARK_HOME / "bin" / "spark-class"), kind, *arguments]
        with open(self.work / f"{name}.log", "ab") as log:
            return subprocess.Popen(command, cwd=self.work, env=environment, stdout=log, stderr=log, process_group=0)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        for worker in list(self.workers):
            self.kill(worker)
        os.killpg(self._master.pid, signal.SIGKILL)
        self._master.wait()


class DriverUI:
    """What a driver says about itself while it runs, over its REST interface."""

    def __init__(self) -> None:
        self.port = free_port()
        self.conf = {"spark.ui.enabled": "true", "spark.ui.port": str(self.port)}

    def running_tasks(self, executor: str) -> list[str]:
        """The stages, by name, of which this executor has tasks at hand."""
        stages = self._get("stages?status=active&details=true")
        return [
            stage["name"]
            for stage in stages
            for task in (stage.get("tasks") or {}).values()
            if task["executorId"] == executor and task["status"] == "RUNNING"
        ]

    def is_lost(self, executor: str) -> bool:
        return any(known["id"] == executor and not known["isActive"] for known in self._get("allexecutors"))

    def _get(self, what: str) -> list[dict[str, Any]]:
        """Nothing before there is somebody to ask."""
        root = f"http://{HOST}:{self.port}/api/v1/applications"
        try:
            with urlopen(root, timeout=30) as answer:
                applications = json.load(answer)
            if not applications:
                return []
            with urlopen(f"{root}/{applications[0]['id']}/{what}", timeout=30) as answer:
                found: list[dict[str, Any]] = json.load(answer)
            return found
        except (OSError, json.JSONDecodeError):
            return []


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        port: int = taken.getsockname()[1]
    return port
