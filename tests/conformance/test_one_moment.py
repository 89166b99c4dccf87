"""A reader of a lake sees the rows and the schema changes of all tables of a window, or none of them."""

from __future__ import annotations

import random

import pytest
import yaml

from airflow_ddlrepl.model.names import TableName
from tests.conformance.conftest import IN_POSTGRES, MakePlace
from tests.support.lakes.reader import Beside, rows_at

TABLES = (
    "create table left_side (id int primary key, amount int)",
    "create table right_side (id int primary key, amount int)",
    "insert into left_side select i, 100 from generate_series(1, 20) i",
    "insert into right_side select i, 100 from generate_series(1, 20) i",
)
SIDES = [TableName("public", f"{side}_side") for side in ("left", "right")]


def is_whole(tables: dict[TableName, str]) -> bool:
    """What one side loses the other one gets, and a column has one name on both sides."""
    (left, rows), (right, others) = (rows_at(tables[side]) for side in SIDES)
    amount = next(number for number, name in enumerate(left) if name.startswith("amount"))
    return left == right and sum(int(row[amount] or 0) for row in [*rows, *others]) == 4000


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("make_place", ["iceberg", IN_POSTGRES], indirect=True)
@pytest.mark.req("HVR-O-15")
def test_no_reader_sees_half_a_window(make_place: MakePlace) -> None:
    place, rng = make_place(), random.Random(1)
    place.start(*TABLES)
    column = "amount"
    (target,) = yaml.safe_load(place.replica.file.read_text())["targets"]
    with Beside(target["location"]) as beside:
        for number in range(5):
            moved = [(rng.randrange(1, 21), rng.randrange(1, 21), rng.randrange(50)) for _ in range(10)]
            work = [
                f"update left_side set {column} = {column} - {much} where id = {one};"
                f" update right_side set {column} = {column} + {much} where id = {other}"
                for one, other, much in moved
            ]
            renamed = f"amount_{number}"
            both = "; ".join(f"alter table {side} rename {column} to {renamed}" for side in SIDES)
            added = "; ".join(f"alter table {side} add c{number} int default {number}" for side in SIDES)
            place.replica.at_source(*(f"begin; {one}; commit" for one in work), f"begin; {both}; {added}; commit")
            column = renamed
            place.settle()
    assert beside.all_at_once(is_whole) >= 5
