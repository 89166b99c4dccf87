"""Histories that once failed are played again, as they were recorded: the target equals the source at their end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Databases
from tests.histories.recorded.script import play
from tests.support.replica import Replica, channel_file

FILES = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_a_recorded_history_ends_equal(databases: Databases, tmp_path: Path, file: Path) -> None:
    tables = {"tables": ["public.*", "other.*"]}
    replica = Replica(
        databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target, source=tables)
    )
    replica.at_source("CREATE SCHEMA other")
    errors = play(replica, file)
    assert not errors, errors
    replica.settle()
