"""Drivers and Java that are killed at any moment of a stream of windows into one lake leave nothing lost or twice."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from pathlib import Path

import pytest

from airflow_ddlrepl.engines.lake.catalog.written import windows
from airflow_ddlrepl.engines.lake.connection.database import reading
from airflow_ddlrepl.model.names import TableName
from tests.chaos.lakes import HALF, Driver, Java, Work
from tests.conftest import Databases
from tests.support.crashing import SECONDS
from tests.support.lakes.reader import Beside, rows_at
from tests.support.replica import Replica, channel_file

KILLS = int(os.environ.get("DDLREPL_LAKE_KILLS", "4"))
SEED = int(os.environ.get("DDLREPL_CHAOS_FROM", "1"))
CHANNELS = ("shop", "elsewhere")


def is_whole(tables: dict[TableName, str]) -> bool:
    """What one side loses the other one gets, and a column has one name on both sides, in each channel's tables."""
    return all(
        _is_whole([tables.get(TableName(name, f"{side}_side")) for side in ("left", "right")]) for name in CHANNELS
    )


def _is_whole(sides: list[str | None]) -> bool:
    if None in sides:  # each table is loaded for itself
        return True
    (left, rows), (right, others) = (rows_at(metadata) for metadata in sides if metadata)
    amount = next(number for number, name in enumerate(left) if name.startswith("amount"))
    return left == right and sum(int(row[amount] or 0) for row in [*rows, *others]) == HALF


@pytest.mark.xdist_group("spark")
@pytest.mark.timeout(200 + 120 * KILLS)
@pytest.mark.req("XR-09")
def test_two_channels_whose_drivers_and_java_are_killed(databases: Databases, tmp_path: Path, lake_spark: None) -> None:
    """Drivers of two channels write to one catalog at once, two of them for the same channel; a reader looks at it."""
    rng, location = random.Random(SEED), f"iceberg://{tmp_path}/catalog.db?warehouse={tmp_path}/warehouse"
    replicas, works = [], []
    for name in CHANNELS:
        work = Work(databases.source, name, rng)
        work.start()
        (folder := tmp_path / name).mkdir()
        source = {"slot": f"{name}_{os.getpid()}", "tables": [f"{name}.*"]}
        file = channel_file(folder, databases.source, location, channel=name, source=source)
        replicas.append(Replica(databases.source, "", file))
        replicas[-1].activate()
        works.append(work)
    died = Counter[str]()
    with Beside(location) as beside:
        java = Java()
        drivers = [Driver(one.file, java.gateway) for one in (*replicas, replicas[0])]
        try:
            while died.total() < KILLS:
                for work in works:
                    work.more()
                which = rng.randrange(len(drivers))
                assert drivers[which].warm.wait(SECONDS), "no cycle came to its end"
                time.sleep(rng.uniform(0, 5))
                assert all(one.is_alive for one in drivers), "a driver has ended by itself"
                if is_java := rng.random() < 0.25:
                    java.kill()
                    for one in drivers:
                        one.end(rng.uniform(0, 3))
                    java = Java()
                    drivers = [Driver(one.file, java.gateway) for one in drivers]
                else:
                    drivers[which].kill()
                    drivers[which] = Driver(drivers[which].file, java.gateway)
                died["java" if is_java else "driver"] += 1
                print(died, flush=True)
        finally:
            for driver in drivers:
                driver.kill()
            java.kill()
        for _ in range(3):  # what late Java has written goes with the run after, and that it was there with the next
            for replica, work in zip(replicas, works, strict=True):
                work.more()
                replica.settle()
    beside.check()
    states = beside.all_at_once(is_whole)
    with reading(location) as connection:
        assert not windows(connection, "w_"), "files of killed runs are left"
    print(f"{died}: {states} states seen")
