"""Airflow's API server alone, with users of all roles and of none: what it serves needs no scheduler."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from airflow_ddlrepl.demo.standalone import free_ports, wait_for
from tests.airflow.conftest import airflow_environment

ROOT = Path(__file__).parents[3]
USERS = {"ann": "admin", "oli": "op", "una": "user", "vic": "viewer", "sam": "viewer"}
"""User: role. Sam may read no DAG whose id has `shop` in it (tests.airflow.support.some_dags)."""


@dataclass
class Answer:
    """What the server answered: status, headers, and the body as a text."""

    status: int
    headers: Mapping[str, str]
    body: str

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


@dataclass
class ApiServer:
    """url: with the path that a reverse proxy has, if any."""

    url: str
    home: Path
    environment: dict[str, str]
    tokens: dict[str, str] = field(default_factory=dict)

    def token(self, user: str) -> str:
        """Log in, as Airflow's form does, and stay so."""
        if user not in self.tokens:
            self.tokens[user] = self._log_in(user)
        return self.tokens[user]

    def _log_in(self, user: str) -> str:
        passwords = json.loads((self.home / "simple_auth_manager_passwords.json.generated").read_text())
        body = json.dumps({"username": user, "password": passwords[user]}).encode()
        headers = {"Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(f"{self.url}/auth/token", body, headers), timeout=20) as got:
            return str(json.load(got)["access_token"])

    def ask(self, path: str, user: str = "", method: str = "GET") -> Answer:
        """Ask as a browser does: with the cookie of who is logged in; a redirect is not followed."""
        headers = {"Cookie": f"_token={self.token(user)}"} if user else {}
        request = urllib.request.Request(self.url + path, headers=headers, method=method)
        try:
            with urllib.request.build_opener(_NoRedirect()).open(request, timeout=30) as got:
                return Answer(got.status, dict(got.headers), got.read().decode())
        except urllib.error.HTTPError as error:
            return Answer(error.code, dict(error.headers), error.read().decode())

    def read_channels(self) -> None:
        """Read the channel files, as Airflow's DAG processor does again and again."""
        airflow(self.environment, "dags", "reserialize")


@contextmanager
def api_server(home: Path, prefix: str = "", **more: str) -> Iterator[ApiServer]:
    """The server runs while the block does; its channel files are in `home / "channels"`. prefix: of [api] base_url."""
    (port,) = free_ports(1)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW_")},
        **airflow_environment(home, home / "channels"),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{user}:{role}" for user, role in USERS.items()),
        "AIRFLOW__CORE__AUTH_MANAGER": "tests.airflow.support.some_dags.SomeDags",
        "AIRFLOW__API__BASE_URL": f"http://127.0.0.1:{port}{prefix}",
        "AIRFLOW__API__SECRET_KEY": "of the tests",
        "AIRFLOW__API_AUTH__JWT_SECRET": "of the tests, and as long as such a secret has to be",
        "PYTHONPATH": str(ROOT),
        **more,
    }
    airflow(environment, "db", "migrate")
    server = ApiServer(f"http://127.0.0.1:{port}{prefix}", home, environment)
    server.read_channels()
    with (home / "api-server.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "airflow", "api-server", "--port", str(port), "--host", "127.0.0.1"],
            env=environment, cwd=home, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        wait_for("airflow api-server", lambda: _answers(server), 180, lambda: _require_running(process, home))
        yield server
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def airflow(environment: Mapping[str, str], *arguments: str) -> None:
    """Run an `airflow` command."""
    done = subprocess.run(
        [sys.executable, "-m", "airflow", *arguments],
        env=dict(environment), capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


def _answers(server: ApiServer) -> bool:
    try:
        return server.ask("/api/v2/version").status == 200
    except OSError:
        return False


def _require_running(process: subprocess.Popen[bytes], home: Path) -> None:
    assert process.poll() is None, (home / "api-server.log").read_text()[-3000:]
