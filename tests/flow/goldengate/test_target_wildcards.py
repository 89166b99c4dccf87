"""The asterisk of a TARGET stands for the whole name at the source: rows, statements, and tables mapped otherwise."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.support.replica import Make, Replica
from tests.support.replicating import columns, replicat

TABLES = (
    "CREATE TABLE hr.tabpay (id int PRIMARY KEY, v int)",
    "CREATE TABLE hr.t1 (id int PRIMARY KEY)",
    "INSERT INTO hr.tabpay VALUES (1, 1)",
    "INSERT INTO hr.t1 VALUES (1)",
)
PARTIAL = [
    {"source": "hr.tab*", "target": "bk.*"},
    {"source": "hr.t?", "target": "bk.r_*"},
    {"source": "hr.pay", "target": "bk.*_of_hr"},
]


def mapped(replica: Replica, *maps: dict[str, str]) -> None:
    """Write other MAPs into the channel file."""
    data = yaml.safe_load(replica.file.read_text(encoding="utf-8"))
    data["targets"][0]["replicat"]["maps"] = list(maps)
    replica.file.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")


@pytest.mark.req("GG-R-06", "GG-R-10")
def test_rows_and_statements_go_where_the_whole_name_leads(make: Make, databases: Any) -> None:
    made = replicat(make, databases, *TABLES, maps=PARTIAL)
    made.at_source(
        "INSERT INTO hr.tabpay VALUES (2, 2)",
        "ALTER TABLE hr.tabpay ADD note text DEFAULT 'tabpay'",
        "ALTER TABLE hr.t1 ADD more int",
        "UPDATE hr.t1 SET more = 5",
        "ALTER TABLE hr.pay RENAME COLUMN v TO w",
        "CREATE TABLE hr.tabnew (id int PRIMARY KEY)",
        "INSERT INTO hr.tabnew VALUES (9)",
    )
    made.settle()
    assert made.rows("SELECT id, v, note FROM bk.tabpay ORDER BY 1") == [(1, 1, "tabpay"), (2, 2, "tabpay")]
    assert made.rows("SELECT id, more FROM bk.r_t1") == [(1, 5)]
    assert made.rows("SELECT id, w FROM bk.pay_of_hr") == [(1, 1)]
    assert made.rows("SELECT id FROM bk.tabnew") == [(9,)]
    made.at_source("ALTER TABLE hr.tabnew RENAME TO tab2", "INSERT INTO hr.tab2 VALUES (10)")
    made.settle()
    assert made.rows("SELECT id FROM bk.tab2 ORDER BY 1") == [(9,), (10,)]


def test_a_table_keeps_its_rows_where_map_gives_it_another_name_later(make: Make, databases: Any) -> None:
    """As a channel of an older version has it, in which the asterisk was a part of the name."""
    made = replicat(make, databases, *TABLES, maps=[{"source": "hr.tabpay", "target": "bk.pay"}])
    mapped(made, *PARTIAL[:1])
    made.at_source("INSERT INTO hr.tabpay VALUES (2, 2)", "ALTER TABLE hr.tabpay ADD x int")
    made.settle()
    assert columns(made, "bk.tabpay") == "id v x"
    assert made.rows("SELECT id FROM bk.tabpay ORDER BY 1") == [(1,), (2,)]
    assert made.rows("SELECT to_regclass('bk.pay')") == [(None,)]
