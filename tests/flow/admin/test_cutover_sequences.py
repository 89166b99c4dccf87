"""Sequences are ahead of the source's when applications begin to draw from them at the target."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import CannotCutOver, ConfigError
from airflow_ddlrepl.ports.work import InProcess
from tests.flow.admin.test_cutover_check import check, missing
from tests.support.replica import BOTH, Make, Replica

SHOP = "CREATE TABLE orders (id serial PRIMARY KEY, number int GENERATED ALWAYS AS IDENTITY, amount int)"


def cut_over(replica: Replica, headroom: int | None = None, *accepted: str) -> Any:
    with flow.open_channel(replica.file, InProcess()) as cycle:
        return flow.cut_over(cycle, accepted, compares=True, headroom=headroom)


@BOTH
def test_sequences_that_are_behind_are_set_with_headroom(make: Make) -> None:
    replica = make(SHOP, db_sequence=True)
    replica.settle()
    replica.at_source("SELECT nextval('orders_id_seq')")
    assert list(missing(replica)) == ["CUT-130"] and check(replica).is_ready
    assert "public.orders_id_seq: it is behind the source's, which is at 1" in missing(replica)["CUT-130"]
    cut_over(replica, 1000)
    assert check(replica).is_complete
    replica.at_target("INSERT INTO orders (amount) VALUES (1)")
    assert replica.rows("SELECT id > 1000, number > 1000 FROM orders") == [(True, True)]
    assert check(replica).is_complete
    with flow.open_channel(replica.file, InProcess()) as cycle, pytest.raises(CannotCutOver, match="CUT-101"):
        flow.repair(cycle)


def test_the_channel_files_headroom_is_the_default(make: Make) -> None:
    replica = make(SHOP, db_sequence={"headroom": 50})
    cut_over(replica)
    replica.at_target("INSERT INTO orders (amount) VALUES (1)")
    assert replica.rows("SELECT id > 50 FROM orders") == [(True,)]


def test_a_channel_that_leaves_sequences_out(make: Make) -> None:
    replica = make(SHOP)
    replica.settle()
    assert missing(replica)["CUT-132"] == "public.orders_id_seq; public.orders_number_seq"
    with pytest.raises(CannotCutOver, match=r"CUT-102.*CUT-132"):
        cut_over(replica)
    with pytest.raises(ConfigError, match=r"CUT-106: --headroom 5.*leaves sequences out"):
        cut_over(replica, 5, "CUT-132", "CUT-124")
    cut_over(replica, None, "CUT-132", "CUT-124")
