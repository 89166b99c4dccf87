"""The README's way into Airflow, line by line: a wheel in a fresh environment, a real Airflow, three channel files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.airflow.support import readme, shop
from tests.airflow.support.answering import Asked
from tests.airflow.support.fresh_environment import fresh_environment

DAG = "ddlrepl__shop__replicate"
STOCK = """
channel: stock
source:
  location: stock_db
  tables: ["public.*"]
targets:
  - name: copy
    location: stock_copy_db
adapt_ddl:
  - add_table_pattern: "*"
"""
TYPO = STOCK.replace("channel: stock", "channel: typo").replace("targets:", "tragets:")
SECOND_TARGET = """  - name: archive
    location: archive_db
"""


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ddlrepl-readme-") as folder:
        yield Path(folder)


@pytest.fixture
def more(databases: Any) -> Iterator[dict[str, str]]:
    """Databases beside the README's two: another channel's, a second target, and Airflow's own."""
    name = databases.source.rpartition("/")[2]
    made = {
        kind: databases.server.create_database(f"{kind}_{name}") for kind in ("stock", "copy", "archive", "airflow")
    }
    yield made
    for database in made.values():
        databases.server.drop_database(database.rpartition("/")[2])


def by_airflow(url: str) -> str:
    """As `airflow connections add` takes it."""
    return url.replace("postgresql:", "postgres:")


@pytest.mark.req("DC-06")
@pytest.mark.e2e
@pytest.mark.timeout(1800)
@pytest.mark.xdist_group("standalone")
def test_the_readme_leads_into_airflow(databases: Any, more: dict[str, str], home: Path) -> None:
    channels = home / "channels"
    blocks = readme.blocks(
        {
            "/var/lib/ddlrepl": str(home / "state"),
            "/etc/ddlrepl/channels": str(channels),
            "/opt/airflow/dags": str(home / "dags"),
            "postgres://user:password@host:5432/shop": by_airflow(databases.source),
            "postgres://user:password@host:5432/warehouse": by_airflow(databases.target),
        }
    )
    assert [block.step for block in blocks] == [1, 2, 3, 4, 5, 6, 7]
    python = fresh_environment(home / "venv")
    user = readme.Reader(environment(home, python))
    for block in blocks[:2]:
        user.does(block)
    check_installed(python)
    shop.run_sql(databases.source, shop.BEFORE)
    shop.run_sql(more["stock"], shop.BEFORE)
    with Asked(home, more["airflow"], user.environment, str(python)) as airflow:
        user.environment = airflow.environment
        for block in blocks[2:5]:
            user.does(block)
        others(user, channels, more)
        user.does(blocks[5])
        shop.run_sql(databases.source, shop.CHANGES)
        printed = user.does(blocks[6])
        wait_for_last_run(airflow, DAG)
        assert any("warehouse" in text for line, text in printed.items() if " status " in line)
        equal(databases.source, databases.target)
        the_typo_stops_no_other_channel(airflow, user, more)
        a_target_that_is_added_later(airflow, user, databases, more, channels)


def environment(home: Path, python: Path) -> dict[str, str]:
    """What a user's shell and Airflow's components have in common before the README: an Airflow home."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "DDLREPL", "PYTHON"))}
    return {
        **clean,
        "PATH": os.pathsep.join([str(python.parent), "/usr/local/bin", "/usr/bin", "/bin"]),
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
    }


def check_installed(python: Path) -> None:
    """It is the wheel that is imported there, not this checkout."""
    ask = (
        "import airflow_ddlrepl, importlib.metadata as m; print(airflow_ddlrepl.__file__, m.version('airflow-ddlrepl'))"
    )
    told = subprocess.run([python, "-c", ask], capture_output=True, text=True, cwd="/", check=True).stdout
    assert told.startswith(str(python.parents[1] / "lib")), told


def others(user: readme.Reader, channels: Path, more: dict[str, str]) -> None:
    """A channel of another database, and a file with a typo."""
    for name, database in (("stock_db", "stock"), ("stock_copy_db", "copy"), ("archive_db", "archive")):
        user.types(f"airflow connections add {name} --conn-uri '{by_airflow(more[database])}'")
    (channels / "stock.yaml").write_text(STOCK)
    (channels / "typo.yaml").write_text(TYPO)
    user.types(f"airflow ddlrepl activate {channels}/stock.yaml")


def wait_for_last_run(airflow: Asked, dag: str, state: str = "success") -> None:
    """The newest run of the DAG ends so."""
    runs = airflow.wait_for_answer(f"/api/v2/dags/{dag}/dagRuns?order_by=-id&limit=1")["dag_runs"]
    assert airflow.wait_for_run(dag, runs[0]["dag_run_id"], 420) == state, airflow.task_logs()


def equal(source: str, target: str) -> None:
    for table in ("orders", "customers"):
        assert shop.rows(target, table) == shop.rows(source, table)


def the_typo_stops_no_other_channel(airflow: Asked, user: readme.Reader, more: dict[str, str]) -> None:
    """Its own DAG says what is wrong, with the line; the other channels have theirs."""
    found = {dag["dag_id"]: dag for dag in airflow.wait_for_answer("/api/v2/dags?limit=100")["dags"]}
    assert {DAG, "ddlrepl__stock__replicate", "ddlrepl__shop__enroll"} <= set(found)
    broken = airflow.wait_for_answer("/api/v2/dags/ddlrepl__typo.yaml__unusable/details")
    assert broken["dag_display_name"] == "typo.yaml can't be used"
    assert re.search(r"typo\.yaml:6: .*tragets", broken["doc_md"]), broken["doc_md"]
    shop.run_sql(more["stock"], shop.CHANGES)
    user.types("airflow dags unpause ddlrepl__stock__replicate")
    user.types("airflow dags trigger ddlrepl__stock__replicate")
    wait_for_last_run(airflow, "ddlrepl__stock__replicate")
    equal(more["stock"], more["copy"])


def a_target_that_is_added_later(
    airflow: Asked, user: readme.Reader, databases: Any, more: dict[str, str], channels: Path
) -> None:
    """The next cycle prepares and loads it; the target that was there gets its rows."""
    file = channels / "shop.yaml"
    file.write_text(file.read_text().replace("adapt_ddl:", SECOND_TARGET + "adapt_ddl:"))
    shop.run_sql(databases.source, ["ALTER TABLE customers ADD COLUMN town text DEFAULT 'Rome'"])
    user.types(f"airflow dags trigger {DAG}")
    wait_for_last_run(airflow, DAG)
    equal(databases.source, databases.target)
    equal(databases.source, more["archive"])
    told = json.loads(user.types(f"airflow ddlrepl status --json {file}"))
    assert set(told["targets"]) == {"warehouse", "archive"}
