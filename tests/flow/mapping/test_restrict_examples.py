"""restrict by the examples of Oracle's subset rules: what each kind of change is to a target that has a subset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.restricting import FULL, at_source, begun

REGIONS = (
    "CREATE TABLE t (id int PRIMARY KEY, region_id int, name text)",
    FULL,
    "INSERT INTO t VALUES (1, 2, 'in'), (2, 4, 'out'), (3, NULL, 'null')",
)
NOTHING = {"inserted": 0, "updated": 0, "deleted": 0}


def case(name: str, ids: str, *statements: str, **counts: int) -> Any:
    """ids: of requirements. counts: rows that the target's table was changed in."""
    marks = pytest.mark.req(*(f"ST-U-{number}" for number in ids.split()))
    return pytest.param(statements, {**NOTHING, **counts}, id=name, marks=marks)


CASES = [
    case("insert inside", "06", "INSERT INTO t VALUES (4, 2, 'new')", inserted=1),
    case("insert outside", "07", "INSERT INTO t VALUES (4, 3, 'new'), (5, NULL, 'new')"),
    case("update from outside or null to inside", "08", "UPDATE t SET region_id = 2 WHERE id > 1", inserted=2),
    case("update inside", "09", "UPDATE t SET region_id = 2, name = 'other' WHERE id = 1", updated=1),
    case("update from inside to outside", "13", "UPDATE t SET region_id = 1 WHERE id = 1", deleted=1),
    case("update from inside to null", "13", "UPDATE t SET region_id = NULL WHERE id = 1", deleted=1),
    case("delete inside", "11", "DELETE FROM t WHERE id = 1", deleted=1),
    case("delete outside", "12", "DELETE FROM t WHERE id > 1"),
    case("each way", "10", "UPDATE t SET region_id = CASE id WHEN 1 THEN 1 WHEN 2 THEN 2 END", inserted=1, deleted=1),
]


@pytest.mark.parametrize(("statements", "counts"), CASES)
def test_regions_of_one_number(
    databases: Any, tmp_path: Path, statements: tuple[str, ...], counts: dict[str, int]
) -> None:
    """Inside is region 2; NULL is outside."""
    replica = begun(databases, tmp_path, {"condition": "region_id = 2"}, statements=REGIONS)
    replica.at_source(*statements)
    told = replica.settle()
    assert {**NOTHING, **{kind: told.integrate.rows.get(kind, 0) for kind in NOTHING}} == counts
    wanted = at_source(replica, "SELECT * FROM t WHERE region_id = 2 ORDER BY id")
    assert replica.rows("SELECT * FROM t ORDER BY id") == wanted


@pytest.mark.req("ST-U-15")
def test_null_is_inside_where_the_condition_says_so(databases: Any, tmp_path: Path) -> None:
    replica = begun(databases, tmp_path, {"condition": "region_id IS NULL"}, statements=REGIONS)
    assert replica.rows("SELECT id FROM t") == [(3,)]
    replica.at_source("UPDATE t SET region_id = 1 WHERE id = 3")
    assert replica.settle().integrate.rows["deleted"] == 1
    assert replica.rows("SELECT id FROM t") == []


@pytest.mark.req("ST-U-03")
def test_a_condition_of_two(databases: Any, tmp_path: Path) -> None:
    statements = (
        "CREATE TABLE t (id int PRIMARY KEY, salary numeric, job_id text)",
        FULL,
        "INSERT INTO t VALUES (1, 4001, 'SA_MAN'), (2, 4000, 'SA_MAN'), (3, 9000, 'SA_REP'), (4, NULL, 'SA_MAN')",
    )
    said = {"condition": "salary > 4000 and job_id = 'SA_MAN'"}
    replica = begun(databases, tmp_path, said, statements=statements)
    assert replica.rows("SELECT id FROM t") == [(1,)]
    replica.at_source("UPDATE t SET salary = 5000", "UPDATE t SET job_id = 'SA_REP' WHERE id = 1")
    replica.settle()
    assert replica.rows("SELECT id FROM t ORDER BY id") == [(2,), (4,)]


EMPLOYEES = (
    "CREATE TABLE t (id int PRIMARY KEY, department_id int, name text, photo text)",
    FULL,
    "INSERT INTO t VALUES (1, 80, 'a', 'b'), (2, 50, 'c', 'd')",
)


@pytest.mark.req("ST-U-26", "ST-U-27", "ST-U-30", "ST-U-41")
def test_employees_that_come_to_a_department_and_leave_it(databases: Any, tmp_path: Path) -> None:
    """Who comes is inserted with every column, though the UPDATE named one."""
    replica = begun(databases, tmp_path, {"condition": "department_id = 50"}, statements=EMPLOYEES)
    replica.at_source("UPDATE t SET department_id = 50 WHERE id = 1")
    assert replica.settle().integrate.rows["inserted"] == 1
    assert replica.rows("SELECT * FROM t ORDER BY id") == [(1, 50, "a", "b"), (2, 50, "c", "d")]
    replica.at_source("UPDATE t SET department_id = 20 WHERE id = 2")
    assert replica.settle().integrate.rows["deleted"] == 1
    assert replica.rows("SELECT * FROM t") == [(1, 50, "a", "b")]


@pytest.mark.req("ST-U-30")
def test_rows_without_a_key_come_and_go_by_all_their_values(databases: Any, tmp_path: Path) -> None:
    """Of two rows that differ in one column, the one that goes is found by its old values."""
    table = ("CREATE TABLE t (department_id int, name text, job text)", FULL)
    rows = "INSERT INTO t VALUES (50, 'a', 'x'), (50, 'a', 'y'), (20, 'b', 'z')"
    replica = begun(databases, tmp_path, {"condition": "department_id = 50"}, statements=(*table, rows))
    replica.at_source("UPDATE t SET department_id = 20, name = 'c', job = 'w' WHERE job = 'y'")
    assert replica.settle().integrate.rows["deleted"] == 1
    assert replica.rows("SELECT * FROM t") == [(50, "a", "x")]
    replica.at_source("UPDATE t SET department_id = 50, name = 'new' WHERE name = 'b'")
    assert replica.settle().integrate.rows["inserted"] == 1
    assert replica.rows("SELECT * FROM t ORDER BY name") == [(50, "a", "x"), (50, "new", "z")]
