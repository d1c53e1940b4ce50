"""docs/running.md, tried as a new user would: every command in it is executed, in order, in one shell."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.daemon.daemon_process import ROOT, Daemon
from tests.daemon.waiting import until

pytestmark = pytest.mark.daemon

PAGE = (ROOT / "docs" / "running.md").read_text(encoding="utf-8")
FILES = dict(zip(("config.yaml", "more.yaml"), re.findall(r"```yaml\n(.*?)```", PAGE, re.S), strict=True))
COMMANDS = re.findall(r"```bash\n(.*?)```", PAGE, re.S)
NEEDS_DAEMON = ("hemiola status", "hemiola register", "hemiola list", "hemiola deregister")
USES = Daemon


class Shell:
    """One bash for all commands, as a user has; each is followed by a mark with its exit code."""

    def __init__(self, folder: Path) -> None:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self._process = subprocess.Popen(
            ["bash", "-m"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, env=os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip

    def run(self, command: str) -> tuple[int, str]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{command}\ncode=$?\necho\necho done:$code\n")
        self._process.stdin.flush()
        lines = []
        for line in self._process.stdout:
            if line.startswith("done:"):
                return int(line.removeprefix("done:")), "".join(lines)
            lines.append(line)
        raise AssertionError("the shell is gone: " + "".join(lines))

    def close(self) -> None:
        self.run("kill %1 %2 2>/dev/null; wait")
        self._process.communicate("exit\n")


def test_every_command_of_the_page(tmp_path):
    shell = Shell(tmp_path)
    try:
        for command in COMMANDS:
            if "validate" in command:
                (tmp_path / "watch" / "config.yaml").write_text(FILES["config.yaml"])
                (tmp_path / "watch" / "more.yaml").write_text(FILES["more.yaml"])
            if command.startswith(NEEDS_DAEMON):
                until(lambda: (tmp_path / "watch" / "state" / "control.sock").exists(), 60)
            if command.startswith("hemiola query"):
                until(lambda command=command: "s1" in shell.run(command)[1], 120)
            code, printed = shell.run(command)
            assert code in ((0, 143) if command.startswith("kill") else (0,)), f"{command}\n{printed}"
            if command.startswith("hemiola list"):
                assert "longest" in printed and "by_source" in printed
        until(lambda: (tmp_path / "watch" / "state" / "control.sock").exists(), 60)
        code, printed = shell.run("hemiola status watch/config.yaml --json")
        assert code == 0 and [line["query"] for line in json.loads(printed)["queries"]] == ["by_source"]
    finally:
        shell.close()
