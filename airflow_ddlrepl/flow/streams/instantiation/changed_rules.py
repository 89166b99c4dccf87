"""Rules that take a table's rows may change; the rows of before are at a target as the earlier rules left them.

The target stores which rules its tables were loaded by, as a digest for each. Where the channel file is another one, or
a function that rules call, digests are compared: a table whose rules differ may lack rows, or have some that no rule
takes any more, or values that a function gives no more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from airflow_ddlrepl.flow.streams.apply_process.apply import ApplyProcess
from airflow_ddlrepl.flow.streams.instantiation.instantiation_plan import way_of
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.streams.queue.insert_route import InsertRoute
from airflow_ddlrepl.streams.rules.apply_settings import Instantiation as Applied

RULES = "rules of tables of: "
"""Behind it stands the client's name where the numbers are digests of rules, by table; of no table: of the file."""
CHANGED = "tables whose rules have changed: "
"""Behind it stands the client's name where the rules of tables of the source have changed behind a position."""
FILE = TableName("", "")


class RuleDigests:
    """The digests say by which rules the tables of a target were loaded. process: that writes it."""

    def __init__(self, process: ApplyProcess) -> None:
        self._process = process
        self._database = process.clients.database
        self._client = process.client.name
        found = process.there.instantiations(RULES + self._client)
        self._stored = {
            TableName(one.owner, one.name): one.scn for one in found if one.source_database == self._database
        }
        clients = process.clients
        called = {rule.action.function for rule in clients.environment.rules.values()} - {""}
        self._file = _digest([clients.run.channel.fingerprint(), *map(clients.functions.version, called)])

    @property
    def is_current(self) -> bool:
        """Return whether the channel file and its functions are those that the digests are of."""
        return self._stored.get(FILE) == self._file

    def changed(self, tables: Sequence[Table], routes: Sequence[InsertRoute], since: Position) -> list[TableName]:
        """Return which of the tables that the target knows have other rules than it knows of, and store these.

        since: up to where it has applied the log.
        """
        digests = {table.name: digest_of(table, routes) for table in tables}
        found = [name for name, now in digests.items() if self._stored.get(name, now) != now]
        marks = [Applied(self._database, *name, since) for name in found]
        new = {name: now for name, now in (*digests.items(), (FILE, self._file)) if self._stored.get(name) != now}
        with self._process.writing() as session:
            rules = [Applied(self._database, *name, now) for name, now in new.items()]
            session.run(lambda transaction: transaction.instantiate(RULES + self._client, rules))
            session.run(lambda transaction: transaction.instantiate(CHANGED + self._client, marks))
        return found


def digest_of(table: Table, routes: Sequence[InsertRoute]) -> int:
    """Return a number that tells the rules which rows of a table go by from others."""
    return _digest(
        f"{route.name} {one.queued} {text}"
        for route in routes
        for one in way_of(table, route).outcomes
        for text in one.rules
    )


def _digest(texts: Iterable[str]) -> int:
    whole = hashlib.sha256("\0".join(sorted(set(texts))).encode()).digest()
    return int.from_bytes(whole[:8], "big") >> 1
