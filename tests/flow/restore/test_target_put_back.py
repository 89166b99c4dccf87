"""A target that was put back to an older copy goes on from there; what refreshes had loaded since is loaded again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.flow.restore.put_back import Places, places
from tests.support.replica import run

OTHER = ("create table u (id int primary key, v text)", "insert into u values (1, 'a')")
GONE = "the target was put back to a copy from before its last load"


@pytest.fixture(params=[18, 15], ids=["pg18", "pg15"])
def there(private_server: Any, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Places]:
    with places(tmp_path, request.param) as made:
        made.replica.at_source(*OTHER)
        made.replica.settle()
        made.replica.settle()
        yield made


def versions(there: Places, table: str) -> list[tuple[Any, ...]]:
    """Who wrote each row at the target: a load writes all of them."""
    return there.replica.rows(f"select id, xmin::text from {table} order by id")


def loaded_since_the_copy(there: Places) -> None:
    """The copy has neither rows that were deleted by hand, nor does the log."""
    run(there.replica.target, "delete from t")
    there.copy("target")
    assert there.replica.refresh("public.t").tables == {"public.t": 1}
    there.replica.at_source("insert into t values (2, 'b')", "insert into u values (2, 'b')")
    there.replica.settle()
    there.put_back("target")
    assert there.replica.rows("select count(*) from t") == [(0,)]


def test_what_was_loaded_since_the_copy_is_loaded_again(there: Places) -> None:
    loaded_since_the_copy(there)
    ((_, kept),) = versions(there, "u")
    result = there.replica.settle()
    assert "1 tables are loaded again" in result.adapt.new_targets["warehouse"]
    assert result.refresh.reasons == {"public.t": GONE} and list(result.refresh.tables) == ["public.t"]
    assert dict(versions(there, "u"))[1] == kept, "u was not loaded"
    again = there.replica.settle()
    assert again.adapt.new_targets == {} and again.refresh.tables == {}


def test_what_no_refresh_has_loaded_comes_by_the_log(there: Places) -> None:
    there.copy("target")
    there.replica.at_source("insert into t values (2, 'b')", "update u set v = 'c'")
    there.replica.settle()
    there.put_back("target")
    before = dict(versions(there, "t"))
    result = there.replica.settle()
    assert "was put back to an older copy" in result.adapt.new_targets["warehouse"]
    assert result.refresh.tables == {} and dict(versions(there, "t"))[1] == before[1]


def test_a_run_that_ends_in_between_forgets_nothing(there: Places) -> None:
    """The stage after the one that has found it out is the one that loads."""
    loaded_since_the_copy(there)
    there.replica.adapt()
    assert there.replica.rows("select state from ddlrepl.tables where state <> 'live'") == [("pending",)]
    there.replica.settle()
    assert there.replica.rows("select count(*) from t") == [(2,)]


def test_a_refresh_alone_is_found_out_too(there: Places) -> None:
    """No capture was between it and the copy."""
    run(there.replica.target, "delete from t")
    there.copy("target")
    there.replica.refresh("public.t")
    there.put_back("target")
    there.replica.settle()
    assert there.replica.rows("select count(*) from t") == [(1,)]
