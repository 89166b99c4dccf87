"""A rewind by the command line, of a channel whose target and replay are DuckDB files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.cli import main
from airflow_ddlrepl.engines.duckdb.connection.database import session
from airflow_ddlrepl.errors import Exit
from airflow_ddlrepl.model.names import TableName
from tests.conformance import places
from tests.conftest import Databases
from tests.support.replayable import HORIZON, captured

T = TableName("public", "t")


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Runs the command line in this process; returns its JSON document."""

    def command(*arguments: str | Path, code: Exit = Exit.DONE) -> Any:
        with pytest.raises(SystemExit) as ended:
            main([*map(str, arguments), "--json"])
        out, err = capfd.readouterr()
        assert int(ended.value.code or 0) == code, err
        return json.loads(out)

    return command


def test_files_are_rewound_by_the_command_line(databases: Databases, tmp_path: Path, run: Callable[..., Any]) -> None:
    replays = [{"name": "past", "location": f"duckdb://{tmp_path}/past.duckdb"}]
    place = places.duckdb(tmp_path, databases.source, replays=replays, rewind_horizon=HORIZON)
    place.replica.at_source("create table t (id int primary key, a text)", "insert into t values (1, 'x')")
    file = place.replica.file
    run("activate", file)
    place.replica.at_source("insert into t values (2, 'y')")
    before = captured(place.replica)
    place.replica.at_source("alter table t drop a", "delete from t where id = 1")
    run("replicate", file)
    assert place.read(T) == [{"id": "2"}]
    plan = run("rewind", file, "--to", before, "--into", "past", "--plan")
    assert [table["verdict"].split()[0] for table in plan["tables"]] == ["safe"]
    assert run("rewind", file, "--to", before, "--into", "past")["tables"] == ["public.t"]
    assert places.file_rows(tmp_path / "past.duckdb", T) == [{"id": "1", "a": "x"}, {"id": "2", "a": "y"}]
    with session(f"duckdb://{tmp_path}/target.duckdb") as connection:
        connection.execute("DELETE FROM public.t")
    run("rewind", file, "--to", before, "--into", "warehouse")
    assert place.read(T) == [{"id": "2"}]
    assert run("compare", file)["differences"] == 0
