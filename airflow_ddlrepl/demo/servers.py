"""Run a private PostgreSQL server with its own folder and a free port, which is removed when the block ends.

    with PrivateServer("source") as server:
        dsn = server.create_database("shop")

Works as root, too: the server then runs as `nobody`. Nothing outside its temporary folder changes.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self
from urllib.parse import quote as percent

from airflow_ddlrepl.demo import binaries
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, quote
from airflow_ddlrepl.errors import Unreachable

SUPERUSER = "postgres"
START_SECONDS = 30.0
COMMON = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "100",
    "shared_buffers": "32MB",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "on",
    "max_prepared_transactions": "10",
    "max_replication_slots": "20",
    "max_wal_senders": "20",
    "wal_sender_timeout": "0",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
LEVEL = {"source": {"wal_level": "logical"}, "target": {"wal_level": "replica"}}

_DROP_ORIGINS = """
SELECT pg_replication_origin_drop(roname) FROM pg_replication_origin
WHERE starts_with(roname, 'ddlrepl ') AND split_part(roname, '#', 1) LIKE '%% ' || %s
"""


class PrivateServer:
    """A private server is one PostgreSQL server; `kind` source writes a logical WAL.

    settings: more lines of postgresql.conf. parent: the folder where servers make theirs; None: the temporary one.
    Raises Unreachable CON-110 (programs missing) or CON-111 (does not start, with its log's end).
    """

    parent: ClassVar[Path | None] = None

    def __init__(
        self,
        kind: Literal["source", "target"] = "source",
        version: int = 18,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.version = version
        self.settings = {**COMMON, **LEVEL[kind], **(settings or {})}
        self.password = secrets.token_urlsafe(12)
        self.port = 0
        self.folder: Path | None = None
        self._programs = Path()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self._prepare()
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def sockets(self) -> Path:
        """Return the folder of the server's unix socket."""
        return self._folder() / "s"

    @property
    def data(self) -> Path:
        """Return the server's data folder."""
        return self._folder() / "data"

    @property
    def log(self) -> Path:
        """Return the path of the server's log."""
        return self._folder() / "server.log"

    def dsn(self, database: str = "postgres", user: str = SUPERUSER, password: str | None = None) -> str:
        """Return a connection URL over TCP; roles made by `create_role` share the server's password."""
        secret = self.password if password is None else password
        login = f"{percent(user, safe='')}:{percent(secret, safe='')}"
        return f"postgresql://{login}@127.0.0.1:{self.port}/{percent(database, safe='')}"

    def create_database(self, name: str) -> str:
        """Create a database and return its connection URL."""
        with connect(self.dsn()) as connection:
            connection.execute(f"CREATE DATABASE {quote(name)} STRATEGY file_copy".encode())
        return self.dsn(name)

    def drop_database(self, name: str) -> None:
        """Drop a database, after ending its sessions and dropping its slots and replication origins."""
        with connect(self.dsn()) as connection:
            connection.execute(f"ALTER DATABASE {quote(name)} ALLOW_CONNECTIONS false".encode())
            connection.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s", [name]
            )
            connection.execute(
                "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = %s", [name]
            )
            connection.execute(f"DROP DATABASE {quote(name)} WITH (FORCE)".encode())
            connection.execute(_DROP_ORIGINS, [name])

    def create_role(self, name: str, attributes: str = "LOGIN") -> None:
        """Create a role. attributes: as CREATE ROLE takes them, e.g. "LOGIN REPLICATION"."""
        with connect(self.dsn()) as connection:
            secret = literal(_verifier(self.password))
            connection.execute(f"CREATE ROLE {quote(name)} {attributes} PASSWORD {secret}".encode())

    def start(self) -> None:
        """Start the server (again) on its port, and return when it answers."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            self.port = self.port or _free_port()
            self._process = self._run_server()
            if self._answers(deadline):
                return
            if time.monotonic() > deadline:
                tail = self.log.read_text(errors="replace")[-2000:]
                raise Unreachable(f"PostgreSQL {self.version} does not start: {tail}", code="CON-111")
            time.sleep(0.2)

    def stop(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        """Stop the server. fast: clean shutdown. immediate: as after a crash, without a checkpoint."""
        self._end({"fast": signal.SIGINT, "immediate": signal.SIGQUIT}[mode])

    def kill(self) -> None:
        """Kill the postmaster with SIGKILL; its children end by themselves."""
        self._end(signal.SIGKILL)

    def close(self) -> None:
        """Stop the server and remove its folder."""
        self.stop("immediate")
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None

    def _folder(self) -> Path:
        if self.folder is None:
            raise Unreachable("the private server is closed", code="CON-112", hint="use it inside its with block")
        return self.folder

    def _prepare(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ddlrepl-pg-", dir=self.parent))
        self.sockets.mkdir(mode=0o700)
        self._programs = binaries.readable(binaries.directory(self.version), self.folder)
        secret = self.folder / "password"
        secret.write_text(_verifier(self.password))
        secret.chmod(0o600)
        self.log.touch(mode=0o600)
        self._own(self.folder, self.sockets, secret, self.log)
        self._make_data(secret)
        secret.unlink()
        lines = [f"{name} = {literal(value).strip()}\n" for name, value in self.settings.items()]
        with (self.data / "postgresql.conf").open("a") as config:
            config.writelines([*lines, f"unix_socket_directories = {literal(str(self.sockets))}\n"])

    def _make_data(self, secret: Path) -> None:
        """Run initdb. secret: a file with the superuser's password verifier."""
        command = [str(self._programs / "initdb"), "-D", str(self.data), "-U", SUPERUSER, "--pwfile", str(secret)]
        options = ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions"]
        self._run([*command, *options])

    def _run(self, command: Sequence[str]) -> None:
        """Run one of the server's programs to its end."""
        done = subprocess.run(command, check=False, capture_output=True, text=True, **self._identity())
        if done.returncode:
            name = Path(command[0]).name
            raise Unreachable(f"{name} of PostgreSQL {self.version} fails: {done.stderr[-2000:]}", code="CON-111")

    def _own(self, *paths: Path) -> None:
        account = binaries.account()
        if account is not None:
            for path in paths:
                os.chown(path, account.pw_uid, account.pw_gid)

    def _identity(self) -> dict[str, Any]:
        account = binaries.account()
        common: dict[str, Any] = {"cwd": self._folder(), "env": {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}}
        if account is None:
            return common
        return {**common, "user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}

    def _run_server(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [*_end_with_us(), str(self._programs / "postgres"), "-D", str(self.data), "-p", str(self.port)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **self._identity(),
            )

    def _answers(self, deadline: float) -> bool:
        """Return True when the server accepts connections, False when it ended.

        It asks for template1: its first session leaves a cache of the catalog there, which new databases are born with.
        """
        while time.monotonic() < deadline:
            if self._process is None or self._process.poll() is not None:
                return False
            try:
                connect(self.dsn("template1")).close()
                return True
            except Unreachable:
                time.sleep(0.03)
        self._end(signal.SIGKILL)
        return False

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(how)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _verifier(password: str) -> str:
    """Return the text that PostgreSQL stores for a password, by RFC 5803.

    A random password needs no iterations, which each login repeats.
    """
    salt, iterations = secrets.token_bytes(16), 1
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations)
    client, server = (hmac.digest(salted, key, "sha256") for key in (b"Client Key", b"Server Key"))
    shown = (base64.b64encode(part).decode() for part in (salt, hashlib.sha256(client).digest(), server))
    return "SCRAM-SHA-256${}:{}${}:{}".format(iterations, *shown)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _end_with_us() -> list[str]:
    """Return the command prefix with which the kernel stops the server when this process is killed.

    The kernel watches the thread that starts the server, so it is used in the main thread only.
    """
    setpriv = shutil.which("setpriv")
    if setpriv is None or threading.current_thread() is not threading.main_thread():
        return []
    return [setpriv, "--pdeathsig", "QUIT", "--"]
