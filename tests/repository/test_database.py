"""The repository's database: what it refuses is told with what to do."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from airflow_ddlrepl.errors import RepositoryError
from airflow_ddlrepl.repository.database import Database
from airflow_ddlrepl.repository.repository import Repository


def test_a_file_that_stays_locked(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'repository.db'}")
    locked = OperationalError("UPDATE", None, sqlite3.OperationalError("database is locked"))
    with pytest.raises(RepositoryError, match="REP-105") as caught, database._explained():
        raise locked
    database.close()
    assert caught.value.retryable and "PostgreSQL" in caught.value.hint


def test_a_file_that_can_not_be_written(tmp_path: Path) -> None:
    file = tmp_path / "repository.db"
    with sqlite3.connect(file) as made:
        made.execute("create table t (id int)")
    database = Database(f"sqlite:///{file}")
    with (
        pytest.raises(sqlite3.OperationalError) as refused,
        sqlite3.connect(f"file:{file}?mode=ro", uri=True) as opened,
    ):
        opened.execute("insert into t values (1)")
    with pytest.raises(RepositoryError, match="REP-121") as caught, database._explained():
        raise OperationalError("INSERT", None, refused.value)
    database.close()
    assert "writable" in caught.value.hint


def test_whether_a_repository_is_there_is_asked_without_making_one(tmp_path: Path) -> None:
    location = f"sqlite:///{tmp_path}/folder/repository.db"
    assert not Repository.is_there(location)
    assert list(tmp_path.iterdir()) == []
    Repository.open(location).close()
    assert Repository.is_there(location)
    assert Repository.is_there("postgresql://nobody@127.0.0.1:1/nowhere")  # a server is not asked
