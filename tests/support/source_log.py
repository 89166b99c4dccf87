"""What a source's log says since the last look: the DDL messages as JSON, everything else by its letter."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from psycopg import Connection

from airflow_ddlrepl.engines.postgres.source.source import PostgresSource
from airflow_ddlrepl.model.change import EventKind
from airflow_ddlrepl.model.table import Table


@dataclass
class Said:
    """One look at the log. letters: of every message in order, e.g. "BMRIC"."""

    letters: str = ""
    ddl: list[dict[str, Any]] = field(default_factory=list)

    @property
    def one(self) -> dict[str, Any]:
        assert len(self.ddl) == 1, [m["tag"] for m in self.ddl]
        return self.ddl[0]

    def tables(self) -> dict[str, Table]:
        """The last shape told of each table, by bare name."""
        shapes = [Table.from_json(t) for message in self.ddl for t in message["tables"]]
        return {shape.name.name: shape for shape in shapes}


def run(source: PostgresSource, user: Connection[Any], *statements: str) -> Said:
    """Runs statements as a user would and tells what the log has of them."""
    source.acknowledge(source.stable_end())
    for statement in statements:
        user.execute(statement.encode())
    high = source.stable_end()
    rows = source.connection.execute(
        "SELECT data FROM pg_logical_slot_peek_binary_changes(%s, %s::pg_lsn, NULL, 'proto_version', '1',"
        " 'publication_names', %s, 'messages', 'true')",
        [source.slot, str(high), source.publication],
    ).fetchall()
    said = Said()
    for (data,) in rows:
        prefix, _, body = bytes(data[10:]).partition(b"\0") if data[:1] == b"M" else (b"", b"", b"")
        if prefix == b"ddlrepl.heartbeat":
            continue
        said.letters += data[:1].decode()
        if prefix == b"ddlrepl":
            message = json.loads(body[4:])
            assert message["kind"] == EventKind.DDL, message
            said.ddl.append(message)
    said.letters = said.letters.replace("BC", "")  # what is left of a heartbeat
    return said
