"""A partitioned table whose ALTER the target refuses because of its rows, or for want of a cast: the tree is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.errors import CannotAdapt
from airflow_ddlrepl.flow.refresh import table_loader
from tests.support.replica import Replica, channel_file

SHOWN = "SELECT k, c, d, b, t, e FROM p ORDER BY k"


@pytest.mark.parametrize("policy", ["REFRESH", "CREATE_AS_SELECT"])
def test_the_whole_tree_is_loaded_where_the_target_refuses_an_alter(
    databases: Any, tmp_path: Path, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By rows of its own, or for want of a cast; values that a USING clause computes are not cast there at all.

    Readers see the old rows up to the exchange of all partitions, and people's own columns keep their values.
    """
    actions = [{"add_table_pattern": "*"}, {"on_preserve_alter_table_fail": policy}]
    file = channel_file(tmp_path, databases.source, databases.target, adapt_ddl=actions)
    replica = Replica(databases.source, databases.target, file)
    replica.at_source(
        "CREATE TABLE p (k int PRIMARY KEY, c float, d date, b int[], t text) PARTITION BY LIST (k)",
        "CREATE TABLE p_1 PARTITION OF p FOR VALUES IN (1, 2)",
        "CREATE TABLE p_2 PARTITION OF p DEFAULT PARTITION BY LIST (k)",
        "CREATE TABLE p_2_1 PARTITION OF p_2 DEFAULT",
        "CREATE TABLE beside (id int PRIMARY KEY)",
        "INSERT INTO p VALUES (1, 'NaN', '2020-01-01', '{1}', 1), (2, 5, NULL, NULL, 2), (3, 1e9, NULL, '{2}', 3)",
    )
    replica.activate()
    replica.at_source(
        "ALTER TABLE p ALTER COLUMN c TYPE integer USING CASE WHEN abs(c) < 1e6 THEN c END::integer",
        "ALTER TABLE p ALTER COLUMN d TYPE integer USING d - DATE '2000-01-01', ALTER COLUMN b TYPE int USING b[1]",
        "INSERT INTO p VALUES (5, 8, 9, 10, 5)",
    )
    replica.replicate()
    assert replica.compare().differences == 0
    replica.at_target("INSERT INTO p VALUES (9, 9, 9, 9, 'no number')")
    replica.at_source(
        "INSERT INTO beside VALUES (1)",
        "INSERT INTO p VALUES (4, 7, 7, 7, 7)",
        "ALTER TABLE p ALTER COLUMN t TYPE integer USING t::integer",
        "ALTER TABLE p ADD COLUMN e int DEFAULT 3",
        "UPDATE p SET e = 4 WHERE k = 1",
    )
    replica.at_target("ALTER TABLE p ADD COLUMN mine text", "UPDATE p SET mine = 'm' || k")
    seen: list[tuple[str, int]] = []
    monkeypatch.setattr(table_loader, "reach", lambda point: seen.append((point, len(replica.rows("TABLE p")))))
    told = replica.replicate()
    assert seen == [("refresh.shadow", 6), ("refresh.loaded", 6)], "with the row that is the target's own"
    assert replica.rows("SELECT DISTINCT mine FROM p WHERE k < 4 ORDER BY 1") == [("m1",), ("m2",), ("m3",)]
    replica.at_target("ALTER TABLE p DROP COLUMN mine")
    assert {"public.p_1", "public.p_2_1"} <= set(told.refresh.tables)
    assert "the target refuses" in told.refresh.reasons["public.p_2_1"]
    rows = [(1, None, 7305, 1, 1, 4), (2, 5, None, None, 2, 3), (3, None, None, 2, 3, 3), (4, 7, 7, 7, 7, 3)]
    assert replica.rows(SHOWN) == [*rows, (5, 8, 9, 10, 5, 3)]
    assert replica.rows("SELECT id FROM beside") == [(1,)]
    assert replica.compare().differences == 0
    replica.at_source("UPDATE p SET t = 1 WHERE k = 3", "DELETE FROM p WHERE k = 1")
    replica.replicate()
    assert replica.compare().differences == 0


def test_a_partition_of_the_targets_own_keeps_the_tree_as_it_is(databases: Any, tmp_path: Path) -> None:
    """Its rows can't come again, so they are not deleted; once it is detached the next run goes on."""
    file = channel_file(tmp_path, databases.source, databases.target)
    replica = Replica(databases.source, databases.target, file)
    replica.at_source(
        "CREATE TABLE p (k int PRIMARY KEY, t text) PARTITION BY LIST (k)",
        "CREATE TABLE p_1 PARTITION OF p FOR VALUES IN (1, 2)",
        "INSERT INTO p VALUES (1, '1')",
    )
    replica.activate()
    replica.at_target("CREATE TABLE ours PARTITION OF p FOR VALUES IN (9)", "INSERT INTO p VALUES (9, 'no number')")
    replica.at_source("ALTER TABLE p ALTER COLUMN t TYPE integer USING t::integer", "INSERT INTO p VALUES (2, 2)")
    with pytest.raises(CannotAdapt, match=r"its partition public\.ours has rows") as refused:
        replica.replicate()
    assert refused.value.code == "ADP-131"
    assert replica.rows("TABLE p ORDER BY 1") == [(1, "1"), (9, "no number")]
    replica.at_target("ALTER TABLE p DETACH PARTITION ours")
    replica.replicate()
    assert replica.rows("TABLE p ORDER BY 1") == [(1, 1), (2, 2)]
    assert replica.rows("TABLE ours") == [(9, "no number")]
