"""An API server with channels in every state that a page has to tell the truth about."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.errors import ControlStop, DdlReplError
from tests.airflow.page.live.staff import run_staff, write_staff
from tests.airflow.support import shop
from tests.airflow.support.api_server import ApiServer, api_server

ASKS = 'adapt_ddl:\n  - add_table_pattern: "*"\nask_before: [drop_column]\n'
DISCARDS = "target_tables:\n  - {tables: codes, types: {code: int}, coerce_error_policy: discard}\n"
NASTY = '<img src=x onerror=pwned=1>"`|{{ 7 * 191 }}'
"""The name of a table, of a column, and a part of a statement."""


@dataclass
class World:
    """The channels `shop` (healthy), `shop-hr` (waits at a control), `crm` (its source is down), `new` (never ran).

    `shop-hr` discards two rows, too. `turn` is healthy until a test stops it. `hr` has clients of Streams (staff.py).
    """

    server: ApiServer
    databases: PrivateServer
    home: Path
    files: dict[str, Path] = field(default_factory=dict)

    def url(self, channel: str, side: str) -> str:
        return self.databases.dsn(f"{channel.replace('-', '_')}_{side}")


@pytest.fixture(scope="session")
def world(private_server: type[PrivateServer]) -> Iterator[World]:
    """The channels run in this process: a page asks the repositories alone, so Airflow needs no scheduler.

    Their servers are their own, since they leave slots there.
    """
    with (
        tempfile.TemporaryDirectory(prefix="ddlrepl-page-") as folder,
        private_server("source", 18) as databases,
        private_server("source", 18) as second,
    ):
        home = Path(folder)
        channels = home / "channels"
        channels.mkdir()
        files = {
            "shop": _channel(channels, home, "shop", databases),
            "shop-hr": _channel(channels, home, "shop-hr", databases),
            "crm": _channel(channels, home, "crm", databases, second),
            "new": _channel(channels, home, "new", databases),
            "turn": _channel(channels, home, "turn", databases),
            "hr": write_staff(channels, home, databases),
        }
        files["shop-hr"].write_text(files["shop-hr"].read_text() + DISCARDS)
        for name in ("shop-hr", "turn"):
            files[name].write_text(files[name].read_text().replace('adapt_ddl:\n  - add_table_pattern: "*"\n', ASKS))
        with api_server(home) as server:
            found = World(server, databases, home, files)
            _healthy(found)
            _stopped(found)
            _turning(found)
            _without_source(found, second)
            run_staff(files["hr"], databases)
            yield found


def _channel(folder: Path, home: Path, name: str, target: PrivateServer, source: PrivateServer | None = None) -> Path:
    base = name.replace("-", "_")
    place = (source or target).create_database(f"{base}_source")
    return shop.write_channel(folder, home, name, place, target.create_database(f"{base}_target"))


def _healthy(world: World) -> None:
    source = world.url("shop", "source")
    shop.run_sql(source, [*shop.BEFORE, f"CREATE TABLE {quoted(NASTY)} (id int PRIMARY KEY, {quoted(NASTY)} text)"])
    shop.activate(world.files["shop"])
    shop.run_sql(source, [*shop.CHANGES, f"ALTER TABLE {quoted(NASTY)} ADD {quoted(NASTY + '2')} int"])
    shop.replicate(world.files["shop"], "first")
    with sqlite3.connect(world.home / "airflow.db") as airflow:
        airflow.execute("UPDATE dag SET is_paused = 0 WHERE dag_id = 'ddlrepl__shop__replicate'")
    for number in range(5):
        more = f"INSERT INTO orders SELECT i, 'more' FROM generate_series({number * 100 + 100}, {number * 110 + 150}) i"
        shop.run_sql(source, [more])
        shop.replicate(world.files["shop"])


def _stopped(world: World) -> None:
    """It waits before a column is dropped, and a row after that waits with it."""
    file, source = world.files["shop-hr"], world.url("shop-hr", "source")
    unfit = f"INSERT INTO codes VALUES ('<script>pwned=1</script>', 'private'), ({literal(NASTY)}, 'private')"
    shop.run_sql(source, [*shop.BEFORE, "CREATE TABLE codes (name text PRIMARY KEY, code text)", unfit])
    shop.activate(file)
    later = ["INSERT INTO orders VALUES (60, 'later')", "ALTER TABLE orders DROP COLUMN note"]
    shop.run_sql(source, [*later, "INSERT INTO orders VALUES (61)"])
    with pytest.raises(ControlStop):
        shop.replicate(file)


def _turning(world: World) -> None:
    file = world.files["turn"]
    shop.run_sql(world.url("turn", "source"), shop.BEFORE)
    shop.activate(file)
    shop.replicate(file)


def _without_source(world: World, second: PrivateServer) -> None:
    file = world.files["crm"]
    shop.run_sql(second.dsn("crm_source"), shop.BEFORE)
    shop.activate(file)
    shop.replicate(file)
    second.stop()
    with pytest.raises(DdlReplError):
        shop.replicate(file)


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
