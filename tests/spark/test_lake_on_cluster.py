"""A lake's channel on a standalone cluster with two workers: both write files, and the driver's Java commits them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_ddlrepl.engines.lake.connection.jars import jar_folder
from airflow_ddlrepl.model.names import TableName
from tests.conftest import Databases
from tests.spark.support.cluster import Cluster
from tests.spark.support.spark_evidence import event_log
from tests.spark.test_cluster import ROWS, Shop
from tests.support.lakes.reader import pointers, rows_at
from tests.support.replica import channel_file, run

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.xdist_group("spark"), pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Its machines have another home: what the driver has fetched into its own is not theirs."""
    with Cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


def test_operators_write_a_lake_by_both_workers(cluster: Cluster, databases: Databases, tmp_path: Path) -> None:
    assert not jar_folder().is_relative_to(cluster.folder)
    location = f"iceberg://{tmp_path}/lake/catalog.db?warehouse={tmp_path}/lake/files"
    conf = {**cluster.properties(), **event_log(tmp_path / "events"), "spark.driver.memory": "1g"}
    trail = (tmp_path / "trail").as_uri()
    file = channel_file(tmp_path, databases.source, location, trail=trail, spark={"conf": conf})
    shop = Shop(databases.source, "", file, cluster, tmp_path)
    run(shop.source, "CREATE TABLE big (id int PRIMARY KEY, note text)", ROWS.format(table="big", first=1))
    shop.ddlrepl("activate")
    run(
        shop.source,
        ROWS.format(table="big", first=50_000),
        "UPDATE big SET note = 'new' WHERE id % 7 = 0",
        "ALTER TABLE big ADD COLUMN more int DEFAULT 7",
        "DELETE FROM big WHERE id % 11 = 0",
    )
    for stage in ("capture", "adapt", "integrate", "maintain"):
        shop.operators(stage)
    shop.ddlrepl("compare")
    both = {"worker-0", "worker-1"}
    assert both in [shop.workers(app, "refresh") for app in shop.apps()]
    assert [app for app in shop.apps() if shop.workers(app, "integrate into warehouse")]
    columns, rows = rows_at(pointers(location)[TableName("public", "big")])
    assert columns == ["id", "note", "more"] and {row[2] for row in rows} == {"7"}
    assert len(rows) == len([one for one in (*range(1, 24_001), *range(50_000, 74_000)) if one % 11])
