"""The ``almanac`` command with a data folder and ports of its own, as tests and their reader use it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
from vacancy import free_port

ALMANAC = [sys.executable, "-m", "almanac"]


class Almanac:
    """The ``almanac`` command with one data folder, and its HTTP API."""

    def __init__(self, home: Path, **settings: str) -> None:
        self.home = home
        self.ports = {name: free_port() for name in ("API", "DASHBOARD", "PREFECT")}
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("ALMANAC_", "PREFECT_"))},
            "ALMANAC_HOME": str(home),
            **{f"ALMANAC_{name}_PORT": str(port) for name, port in self.ports.items()},
            **settings,
        }

    def run(self, *words: str, timeout: float = 180) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([*ALMANAC, *words], env=self.environment, capture_output=True, text=True,
                              timeout=timeout, stdin=subprocess.DEVNULL)

    def json(self, *words: str, timeout: float = 180) -> Any:
        done = self.run(*words, "--json", timeout=timeout)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    @property
    def http(self) -> httpx.Client:
        token = (self.home / "token").read_text().strip()
        return httpx.Client(base_url=f"http://127.0.0.1:{self.ports['API']}", timeout=60, trust_env=False,
                            headers={"Authorization": f"Bearer {token}"})
