"""A channel between two fresh databases, for tests that tell a whole story."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from airflow_ddlrepl import flow
from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.notation.moment import parse_start, parse_until
from airflow_ddlrepl.notation.refresh_options import options_for
from airflow_ddlrepl.ports.work import InProcess


@dataclass
class Replica:
    """source and target: URLs; file: the channel file."""

    source: str
    target: str
    file: Path

    def at_source(self, *statements: str) -> None:
        """Each statement in its own transaction."""
        run(self.source, *statements)

    def at_target(self, *statements: str) -> None:
        run(self.target, *statements)

    def activate(
        self, enrollment: Any = "keep", start: str = "now", trail: Any = "keep", accept: Any = "nothing"
    ) -> Any:
        with flow.open_channel(self.file, InProcess()) as cycle:
            begin = parse_start(start, cycle.positions)
            return flow.activate(cycle, enrollment=enrollment, start=begin, trail=trail, accept=accept)

    def begin(self) -> None:
        """The first activation: what exists is loaded."""
        self.activate()

    def replicate(self, until: str = "") -> Any:
        with flow.open_channel(self.file, InProcess()) as cycle:
            return flow.replicate(cycle, parse_until(until, cycle.positions) if until else None)

    def capture(self) -> Any:
        """Only this: what is captured waits for a cycle to bring it to the target."""
        with flow.open_channel(self.file, InProcess()) as cycle:
            return flow.capture(cycle)

    def adapt(self) -> Any:
        """Capture, then bring the target just past the last schema change; no refresh is done."""
        with flow.open_channel(self.file, InProcess()) as cycle:
            flow.capture(cycle)
            return flow.adapt(cycle)

    def refresh(self, *tables: str, options: str = "") -> Any:
        with flow.open_channel(self.file, InProcess()) as cycle:
            return flow.refresh(cycle, tables, options_for(tables, options))

    def rewind(self, to: str, into: str = "past", tables: Sequence[str] = (), *, onward: bool = False) -> Any:
        with flow.open_channel(self.file, InProcess()) as cycle:
            return flow.rewind(cycle, parse_until(to, cycle.positions), into, tables, onward=onward)

    def plan_rewind(self, to: str, into: str = "past", tables: Sequence[str] = ()) -> Any:
        with flow.open_channel(self.file, InProcess()) as cycle:
            return flow.plan_rewind(cycle, parse_until(to, cycle.positions), into, tables)

    def compare(self) -> Any:
        with flow.open_channel(self.file, InProcess()) as cycle:
            return flow.compare(cycle)

    def plan(self) -> Any:
        with flow.open_channel(self.file, InProcess()) as cycle:
            return flow.plan(cycle)

    def settle(self, left_out: Collection[str] = ()) -> Any:
        """One cycle, then source and target must be equal."""
        result = self.replicate()
        self.check_equal(left_out)
        return result

    def check_equal(self, left_out: Collection[str] = ()) -> None:
        """left_out: tables that can't be compared, for their rows are not in the stream; all others are."""
        report = self.compare()
        assert report.differences == 0, report.text()
        assert all(table.is_settled for table in report.tables), report.text()
        assert set(report.left_out) == set(left_out), report.text()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What the target answers."""
        with psycopg.connect(self.target) as connection:
            return connection.execute(query).fetchall()


def may_differ(replica: Replica) -> list[str]:
    """What the status says of rows that a policy has left."""
    with flow.open_channel(replica.file, InProcess()) as cycle:
        found = flow.status(cycle)
    told = [why for table in found.to_json()["targets"]["warehouse"]["tables"] for why in table["may_differ"]]
    assert [line.strip() for line in found.text().splitlines() if "may differ" in line] == [
        f"may differ {w}" for w in told
    ]
    return told


class Sessions:
    """Sessions of an application: `run` uses one again while `reused` is true, as a connection pool does."""

    def __init__(self) -> None:
        self.is_on = False
        self._open: dict[str, psycopg.Connection[Any]] = {}

    @contextmanager
    def reused(self) -> Iterator[None]:
        """Inside the `with` a session to a database is used again; the last statement closes them."""
        self.is_on = True
        try:
            yield
        finally:
            self.is_on = False
            while self._open:
                self._open.popitem()[1].close()

    def run(self, dsn: str, *statements: str) -> None:
        """Run each statement in a transaction of its own, in a session as new."""
        session = self._open.pop(dsn, None) or psycopg.connect(dsn, autocommit=True)
        with ExitStack() as closing:
            closing.callback(session.close)
            for statement in statements:
                session.execute(statement)
            if self.is_on and not _NEEDS_NEW_SESSIONS.search(" ".join(statements)):
                session.execute(_AS_NEW)
                closing.pop_all()
                self._open[dsn] = session


_NEEDS_NEW_SESSIONS = re.compile(r"ALTER (DATABASE|ROLE|USER|SYSTEM)|DROP DATABASE", re.IGNORECASE)
_AS_NEW = b"RESET SESSION AUTHORIZATION; RESET ALL; SELECT pg_advisory_unlock_all(); DISCARD TEMP; DISCARD SEQUENCES"
APPLICATION = Sessions()


def run(dsn: str, *statements: str) -> None:
    """Each statement in its own transaction."""
    APPLICATION.run(dsn, *statements)


def channel_file(folder: Path, source: str, target: str, on_error: str = "", /, **more: Any) -> Path:
    """A channel `shop` for all of public (and more), own defaults, state in `folder`. on_error: of the target."""
    data: dict[str, Any] = {
        "channel": "shop",
        "source": {"location": source, "tables": ["*.*"]},
        "targets": [{"name": "warehouse", "location": target, **({"on_error": on_error} if on_error else {})}],
        "adapt_ddl": [{"add_table_pattern": "*"}],
        "repository": f"sqlite:///{folder}/repository.db",
        "trail": f"file://{folder}/trail",
    }
    for name, value in more.items():
        data[name] = {**data[name], **value} if isinstance(data.get(name), dict) and isinstance(value, dict) else value
    file = folder / "shop.yml"
    file.write_text(yaml.safe_dump(data, sort_keys=False))
    return file


@contextmanager
def lasting(server: PrivateServer, folder: Path, name: str, start: Sequence[str], **sections: Any) -> Iterator[Replica]:
    """One active channel for all tests of a file. name: of its databases and its slot, which are the server's."""
    names = [f"{name}_source", f"{name}_target"]
    source, target = (server.create_database(each) for each in names)
    sections["source"] = {"slot": name, **sections.get("source", {})}
    found = Replica(source, target, channel_file(folder, source, target, **sections))
    found.at_source(*start)
    found.activate()
    yield found
    for each in names:
        server.drop_database(each)


Make = Callable[..., Replica]
"""What the fixture `make` of tests/flow gives: a function that activates a channel."""


def activating(databases: Any, folder: Path) -> Make:
    """A function that activates a channel whose role is a superuser at both ends; keywords change the channel file.

    Statements run at the source before the activation.
    """

    def made(*before: str, **more: Any) -> Replica:
        file = channel_file(folder, databases.source, databases.target, **more)
        replica = Replica(databases.source, databases.target, file)
        replica.at_source(*before)
        replica.activate()
        return replica

    return made


BOTH = pytest.mark.parametrize("databases", [18, 15], indirect=True, ids=["pg18", "pg15"])
