"""A whole story through the command line as real processes: the passwords stand where the user wrote them only."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from airflow_ddlrepl.engines.postgres.connection.quoting import literal
from airflow_ddlrepl.errors import Exit
from tests.conftest import Databases
from tests.support.replica import channel_file, run
from tests.support.secret_search import Hunt

PASSWORD = "Mårk3r p@ss/w:rd%20'\"$x#?&"
WRONG = "wr0ng/M@rker:geheim"
ROOT = Path(__file__).parents[2]


class Shell:
    """`ddlrepl …` in a process of its own, with a home and a temporary folder of its own."""

    def __init__(self, folder: Path, databases: Databases, hunt: Hunt) -> None:
        self.folder, self.databases, self.hunt = folder, databases, hunt
        self.name = "ma_" + databases.source.rsplit("_", 1)[1]
        for part in ("home", "tmp", "state"):
            (folder / part).mkdir()
        own = {name: os.environ[name] for name in ("PATH", "JAVA_HOME", "LANG") if name in os.environ}
        self.environment = {
            **own,
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
            "PYTHONPATH": str(ROOT),
            "DDLREPL_DEBUG": "1",
            "SOURCE_URL": self.url(databases.source),
            "AIRFLOW_CONN_WAREHOUSE": self.url(databases.target),
        }
        self.file = channel_file(folder / "state", "${SOURCE_URL}", "warehouse", capture={"parallel": 2})
        self.said = ""

    def url(self, dsn: str, password: str = PASSWORD, port: int | None = None) -> str:
        server, database = self.databases.server, dsn.rsplit("/", 1)[1]
        return f"postgresql://{self.name}:{quote(password, safe='')}@127.0.0.1:{port or server.port}/{database}"

    def __call__(self, *arguments: str, code: Exit = Exit.DONE, file: Path | None = None, **variables: str) -> str:
        """Standard output; the exit code must be that, and no output may show a secret."""
        command, *rest = arguments
        process = subprocess.Popen(
            [sys.executable, "-m", "airflow_ddlrepl.cli", command, str(file or self.file), *rest],
            env=self.environment | variables, cwd=self.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        environment = Path(f"/proc/{process.pid}/environ").stat()
        assert stat.S_IMODE(environment.st_mode) == 0o400
        out, err = process.communicate(timeout=180)
        assert process.returncode == code, err
        assert not self.hunt.is_in(out + err), (arguments, out, err)
        self.said += err
        return out

    def clean(self) -> None:
        assert self.hunt.files(self.folder) == []
        assert self.hunt.shown == set() and self.hunt.looks > 20


@pytest.fixture
def shell(databases: Databases, tmp_path: Path) -> Iterator[Shell]:
    with Hunt(PASSWORD, WRONG) as hunt:
        made = Shell(tmp_path, databases, hunt)
        secret = literal(PASSWORD).strip()
        run(databases.source, f"create role {made.name} superuser login password {secret}")
        yield made
    for dsn in (databases.source, databases.target):
        run(dsn, f"reassign owned by {made.name} to postgres; drop owned by {made.name} cascade")
    run(databases.source, f"drop role {made.name}")


def test_a_story_with_passwords(shell: Shell, databases: Databases) -> None:
    run(databases.source, "create table t (id int primary key, v text)", "insert into t values (1, 'one')")
    shell("check", "--json")
    shell("doctor", "--json")
    shell("activate")
    more = "insert into t select i, repeat(md5(i::text), 20) from generate_series(2, 6000) i"
    run(databases.source, more, "alter table t add column n int default 5", "create table u (w text)")
    shell("replicate", "--json")  # enough for Spark to start
    assert "Spark" in shell.said
    run(databases.source, "alter table t alter n type text using n || '!'", "alter table t add column z int")
    assert "needs_refresh" in shell("plan", "--json")
    shell("refresh", "--table", "public.u")
    shell("replicate")
    assert '"differences": 0' in shell("compare", "--json")
    shell("status", "--json")
    shell("revisions", "--json")
    shell.clean()


def test_runs_that_fail_with_passwords(shell: Shell, databases: Databases) -> None:
    run(databases.source, "create table t (id int primary key, v text)", "insert into t values (1, 'one')")
    shell("activate")
    run(databases.source, "insert into t values (2, 'two')")
    wrong = shell.url(databases.source, WRONG)
    shell("replicate", "--json", code=Exit.UNREACHABLE, SOURCE_URL=wrong)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        away = shell.url(databases.target, port=unused.getsockname()[1])
        shell("replicate", code=Exit.UNREACHABLE, AIRFLOW_CONN_WAREHOUSE=away)
    for broken in (wrong.replace("@127.0.0.1:", "@127.0.0.1:x"), wrong.replace("postgresql://", "mysql://")):
        shell("status", code=Exit.USAGE, SOURCE_URL=broken)
    repository = shell.folder / "state" / "elsewhere.yml"
    repository.write_text(shell.file.read_text().replace("repository: sqlite:", "repository: ${REPOSITORY} #"))
    shell("status", code=Exit.UNREACHABLE, file=repository, REPOSITORY=wrong)
    shell("check", code=Exit.USAGE, file=_misspelled(shell), REPOSITORY=wrong)
    run(databases.target, "alter table t add constraint never check (id < 2)")
    shell("replicate", code=Exit.FAILED)
    (segment,) = (f for f in (shell.folder / "state" / "trail").rglob("*.parquet") if "transactions" not in f.name)
    segment.write_bytes(segment.read_bytes()[:-9])
    shell("replicate", code=Exit.FAILED)
    told = shell("errors", "--json")
    assert all(code in told for code in ("CON-101", "CON-102", "TRL-102")), told
    shell.clean()


def _misspelled(shell: Shell) -> Path:
    """A channel file that pydantic refuses; its location is a password, so the file itself is not searched."""
    file = shell.folder.parent / f"{shell.folder.name}.yml"
    text = shell.file.read_text().replace("${SOURCE_URL}", shell.url(shell.databases.source))
    file.write_text(text.replace("tables:", "tabels:") + f"retention: {{age: '{WRONG}'}}\n")
    return file
