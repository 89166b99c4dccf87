"""A channel that refuses: what the error must say, and that nothing is left half done."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.cli.app import main
from airflow_ddlrepl.errors import DdlReplError, Exit, TablesSuspended
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.repository.repository import Repository
from tests.support.replica import Replica, channel_file

START = ("create table t (id int primary key, v text)", "insert into t values (1, 'one')")


def new_replica(databases: Any, folder: Path, **more: Any) -> Replica:
    """Not activated yet; source table t with one row."""
    file = channel_file(folder, databases.source, databases.target, **more)
    made = Replica(databases.source, databases.target, file)
    made.at_source(*START)
    return made


def reason(error: DdlReplError) -> str:
    """Return the code of an error; of one that names suspended tables, the code of the first one's reason."""
    found = re.search(r" at [0-9A-F]+/[0-9A-F]+: ([A-Z]{3}-[0-9]+): ", error.message)
    return found[1] if found and isinstance(error, TablesSuspended) else error.code


def refused(replica: Replica, stage: str, code: str, exit_code: Exit = Exit.FAILED) -> DdlReplError:
    """The stage fails with that reason; the error helps, is recorded, and gives no secret away."""
    with (
        flow.open_channel(replica.file, InProcess()) as run,
        pytest.raises(DdlReplError) as caught,
    ):
        getattr(flow, stage)(run)
    error = caught.value
    assert reason(error) == code and error.exit_code == exit_code, str(error)
    assert error.hint and error.message
    secrets = {urlsplit(url).password or "" for url in (replica.source, replica.target)}
    with Repository.open(f"sqlite:///{replica.file.parent}/repository.db") as repository:
        newest = repository.errors("shop")[0]
    assert newest.code == error.code
    for secret in secrets | {"wrong-geheim"}:
        assert secret not in f"{error}{error!r}{newest}"
    return error


def in_shell(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit code and standard error of a `ddlrepl` command."""
    try:
        with pytest.raises(SystemExit) as end:
            main(arguments)
    finally:
        logging.basicConfig(force=True, handlers=[logging.NullHandler()])  # its own writes to a captured stream
    return int(end.value.code or 0), capsys.readouterr().err


def edit(file: Path, old: str, new: str) -> None:
    """Change the channel file; the text must be there."""
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def with_password(url: str, password: str) -> str:
    return re.sub(r":[^:@/]*@", f":{password}@", url, count=1)


def ask(url: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(query).fetchall()
