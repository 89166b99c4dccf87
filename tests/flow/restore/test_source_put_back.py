"""A source that was put back to an older copy is found out, whatever has been written to it since."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.flow.restore.put_back import Places, places, refused
from tests.support.replica import run


@pytest.fixture(scope="module", params=[18, 15], ids=["pg18", "pg15"])
def there(
    private_server: Any, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Places]:
    with places(tmp_path_factory.mktemp("put-back"), request.param) as made:
        yield made


def test_a_copy_whose_log_has_grown_past_the_captured_position(there: Places) -> None:
    """The same server by its identifier, its timeline, its slot and publication: only its mark is older."""
    replica = there.replica
    there.copy("source")
    replica.at_source("insert into t select i, 'captured' from generate_series(10, 400) i")
    replica.settle()
    there.put_back("source")
    replica.at_source("insert into t select i, 'other' from generate_series(500, 600) i")
    for _ in range(3):  # past what was captured, by far
        replica.at_source("create table filler as select generate_series(1, 10000) i", "drop table filler")
    error = refused(replica, "SRC-130", tries=3)
    assert "--accept source" in error.hint
    assert replica.rows("select count(*) from t where v = 'captured'") == [(391,)], "nothing was done at the target"
    with pytest.raises(type(error)):
        replica.activate()
    replica.activate(accept="source")
    replica.settle()
    assert replica.rows("select count(*) from t where v = 'other'") == [(101,)]
    replica.at_source("insert into t values (1000, 'after')")
    replica.settle()


def test_a_copy_from_before_all_that_the_last_cycle_found(there: Places) -> None:
    """Nothing of the channel was written in between but the mark itself."""
    replica = there.replica
    there.copy("source")
    replica.replicate()
    there.put_back("source")
    refused(replica, "SRC-130")
    replica.activate(accept="source")
    replica.settle()


def test_what_is_accepted_must_have_happened(there: Places) -> None:
    from airflow_ddlrepl.errors import ConfigError

    with pytest.raises(ConfigError, match="CFG-196"):
        there.replica.activate(accept="source")
    with pytest.raises(ConfigError, match="CFG-196"):
        there.replica.activate(accept="repository")


def test_the_newest_copy_goes_on(there: Places) -> None:
    replica = there.replica
    replica.at_source("insert into t values (2000, 'kept')")
    replica.settle()
    there.copy("source")
    there.put_back("source")
    replica.at_source("insert into t values (2001, 'more')")
    replica.settle()


def test_a_mark_that_somebody_has_removed(there: Places, tmp_path: Path) -> None:
    replica = there.replica
    run(replica.source, "delete from ddlrepl.mark")
    assert "removed the mark" in refused(replica, "SRC-131").message
    replica.activate(accept="source")
    replica.settle()


def test_a_source_without_marks_whose_log_once_ended_too_early(there: Places) -> None:
    """As an earlier version has prepared it: the error stays when the log has grown past what was captured."""
    replica = there.replica
    run(replica.source, "drop function ddlrepl.put_mark, ddlrepl.marked")
    replica.settle()
    there.copy("source")
    replica.at_source("insert into t select i, 'captured' from generate_series(3000, 9000) i")
    replica.settle()
    there.put_back("source")
    refused(replica, "SRC-115", tries=1)
    for _ in range(3):
        replica.at_source("create table filler as select generate_series(1, 10000) i", "drop table filler")
    refused(replica, "SRC-115")
    replica.activate(accept="source")
    replica.settle()
