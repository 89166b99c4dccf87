"""The operators by policy and by enroll revision: what each task says it did, and what the target then is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.operators.adapt_ddl import AdaptDDLOperator
from airflow_ddlrepl.operators.capture import CaptureOperator
from airflow_ddlrepl.operators.enroll import EnrollOperator
from airflow_ddlrepl.operators.integrate import IntegrateOperator
from airflow_ddlrepl.operators.refresh import RefreshOperator
from airflow_ddlrepl.ports.work import InProcess
from tests.airflow.support import shop
from tests.airflow.test_by_hand import file, in_process, run
from tests.flow.capture.test_enrollment import unseen
from tests.support.replica import Replica

__all__ = ["file", "in_process"]
NARROW = ("ALTER TABLE orders ALTER note TYPE varchar(9)", "INSERT INTO orders VALUES (51, 'narrow')")
POLICIES = ("REFRESH", "WARNING", "FAIL_INTEG_JOB")


@pytest.fixture
def narrowed(request: pytest.FixtureRequest, file: Path, databases: Any) -> Iterator[tuple[str, Path]]:
    """A channel with a policy for changes that break enroll information, and such a change at its source."""
    with file.open("a") as channel:
        channel.write("defaults: hvr\n")
    pattern = 'add_table_pattern: "*"'
    file.write_text(file.read_text().replace(pattern, f"{pattern}\n    on_enroll_break: {request.param}"))
    shop.run_sql(databases.source, list(NARROW))
    yield request.param, file


@pytest.mark.req("DC-02")
@pytest.mark.parametrize("narrowed", POLICIES, indirect=True)
def test_a_change_is_found_and_the_target_is_altered_or_refreshed_by_policy(
    narrowed: tuple[str, Path], databases: Any
) -> None:
    policy, channel = narrowed
    captured, _ = run(CaptureOperator, channel)
    assert (captured["ddl"], captured["revisions"]) == ({"ALTER TABLE": 1}, 1)
    if policy == "FAIL_INTEG_JOB":
        with pytest.raises(AirflowFailException, match="CTL-101"):
            run(AdaptDDLOperator, channel)
        assert shop.rows(databases.target, "orders")[0] == ("id", "note")
        return
    adapted, _ = run(AdaptDDLOperator, channel)
    altered = [one["table"] for one in adapted["executed"]]
    refreshed, _ = run(RefreshOperator, channel)
    assert (altered, refreshed.get("tables", {})) == (
        ([], {"public.orders": 51}) if policy == "REFRESH" else (["public.orders"], {})
    )
    run(IntegrateOperator, channel)
    assert shop.rows(databases.target, "orders") == shop.rows(databases.source, "orders")


@pytest.mark.req("DC-02")
def test_a_column_that_no_event_told_of_is_found_by_inspection(file: Path, databases: Any) -> None:
    """The event triggers are switched off meanwhile: the tables are looked at again."""
    unseen(Replica(databases.source, databases.target, file), "ALTER TABLE orders ADD price int")
    shop.run_sql(databases.source, ["INSERT INTO orders VALUES (51, 'new', 7)"])
    captured, _ = run(CaptureOperator, file)
    assert captured["drift"] == 1
    adapted, _ = run(AdaptDDLOperator, file)
    assert ["ADD COLUMN" in one["sql"] for one in adapted["executed"]] == [True]
    run(RefreshOperator, file)
    run(IntegrateOperator, file)
    assert shop.rows(databases.target, "orders") == shop.rows(databases.source, "orders")


def revisions(channel: Path) -> int:
    """How many shapes of the table are stored."""
    with flow.RunContext(load_channel(channel), InProcess()) as opened:
        return sum(map(len, opened.repository.histories("shop").values()))


@pytest.mark.req("DC-03")
def test_enroll_revisions_are_kept_or_made_again_as_the_run_says(file: Path, databases: Any) -> None:
    """Only `regenerate` and `only` write what the source has now; only a start moment reads the log again."""
    with file.open("a") as channel:
        channel.write("rewind_horizon: {age: 1d, hold_log: {age: 1d}}\n")
    run(EnrollOperator, file)
    then = shop.position(databases.source)
    shop.run_sql(databases.source, ["INSERT INTO orders VALUES (51, 'one')"])
    shop.replicate(file)
    unseen(Replica(databases.source, databases.target, file), "ALTER TABLE orders ADD price int")
    before = revisions(file)
    kept, _ = run(EnrollOperator, file, enrollment="keep", start_moment="now", refresh=False)
    assert kept["contradicted"] == {} and revisions(file) == before
    only, _ = run(EnrollOperator, file, enrollment="only", start_moment="now", refresh=False)
    assert list(only["contradicted"]) == ["public.orders"] and revisions(file) == before + 1
    again, _ = run(EnrollOperator, file, enrollment="regenerate", start_moment="now", refresh=False)
    assert again["contradicted"] == {} and not again.get("reread") and revisions(file) == before + 1
    moved, _ = run(EnrollOperator, file, start_moment=then, refresh=False)
    assert moved["reread"] > 0
    shop.replicate(file)
    assert shop.rows(databases.target, "orders")[-1][:2] == (51, "one")
