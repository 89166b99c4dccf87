"""Plays a history whose changes apply processes of Oracle Streams carry: each row and statement, one by one.

    python -m tests.histories.applied 18 1-100

What an apply process cannot do waits in its error queue, and a table that may lack rows or values is named: nothing
else differs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import yaml

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.postgres.connection.quoting import quote
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.streams.apply_process.apply import apply_process
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.flow.streams.instantiation.lacking_tables import lacking
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.ports.work import InProcess
from tests.histories import histories
from tests.histories.equality import Locked, difference
from tests.histories.player import ACTIVATE, CHECK, IDLE, Player, Step

CAPTURE = {"streams_type": "capture", "streams_name": "cap", "queue_name": "q1", "include_ddl": True}
APPLY = {"streams_type": "apply", "queue_name": "q1", "source_database": "dbs1", "include_ddl": True}
NOT_INSTANTIATED = ("CREATE SCHEMA", "CREATE TYPE", "CREATE DOMAIN", "ALTER TYPE", "ALTER DOMAIN", "DROP TYPE")
"""Statements on what instantiation brings only where a table needs it."""
TOLD = ("APL-110", "RUL-143")
"""The first is a transaction in the error queue, the second a table whose rows are no longer in the log."""


class Applying(Player):
    """Every target is that of an apply process. A history ends with the first error that one is told of."""

    def __init__(self, urls: list[str], folder: Path, options: dict[str, Any]) -> None:
        super().__init__(urls, folder, options)
        names = [f"target{number}" for number in range(len(self.targets))]
        calls = [CAPTURE, *({**APPLY, "streams_name": name} for name in names)]
        several = {"parameter": "parallelism", "value": 3 if options.get("packed") else 1}
        parameters = [{"set_parameter": {"apply_name": name, **several}} for name in names]
        places = zip(names, self.targets, strict=True)
        data = yaml.safe_load(self.replica.file.read_text())
        del data["targets"]
        data["streams"] = {
            "calls": [*({"add_global_rules": call} for call in calls), *parameters],
            "targets": [{"name": name, "location": url, "apply": name} for name, url in places],
            "source_database": "dbs1",
        }
        self.replica.file.write_text(yaml.safe_dump(data, sort_keys=False))
        self.told = ""
        self.is_active = False

    def play(self, step: Step) -> bool:
        if self.told:
            return False
        is_done = super().play(step)
        if is_done and not self.is_active and step.text.startswith(NOT_INSTANTIATED):
            self._at_targets(step.text)
        self.is_active |= step == ACTIVATE
        return is_done

    def _at_targets(self, statement: str) -> None:
        for url in self.targets:
            with psycopg.connect(url, autocommit=True) as target:
                target.execute(statement)  # type: ignore[call-overload]

    def _act(self, what: str) -> None:
        with flow.open_channel(self.replica.file, InProcess()) as run:
            try:
                getattr(flow, what if what in ("activate", "capture") else "replicate")(run)
            except DdlReplError as error:
                if error.code not in TOLD:
                    raise
                self.told = str(error)
                self.outcome.suspended += 1
                return
        if what == CHECK:
            with suppress(Locked):
                self._check()

    def _check(self) -> None:
        with flow.open_channel(self.replica.file, InProcess()) as run:
            left_out = {one.table_id for one in run.source.membership.left_out()}
            clients = StreamsClients(run)
            for number, (target, url) in enumerate(zip(clients.section.targets, self.targets, strict=True)):
                with apply_process(clients, target) as process:
                    late = self._ids(one.name for one in lacking(process))
                if found := difference(self.source, url, left_out | late, self.called, self.wanted()):
                    raise AssertionError(f"target {number} differs: {found}")

    def _ids(self, names: Iterable[TableName]) -> set[int]:
        """Return ids of tables of the source, of those that are there."""
        spelled = [f"{quote(name.schema)}.{quote(name.name)}" for name in names]
        found = self.sessions[0].execute("SELECT to_regclass(unnest(%s::text[]))::oid::bigint", [spelled])
        return {one for (one,) in found if one is not None}

    def finish(self) -> None:
        """All transactions end, one last cycle: the servers' checksums are equal."""
        for number, session in enumerate(self.sessions):
            if session.info.transaction_status is not IDLE:
                super().play(Step(number, "COMMIT"))
        self._end_prepared()
        if not self.told:
            self.play(Step(None, CHECK, must=True))
        if not self.told:
            self._check()


if __name__ == "__main__":
    sys.exit(histories.main(sys.argv[1:], Applying))
