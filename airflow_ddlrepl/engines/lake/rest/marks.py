"""This module has the table of a REST catalog by which it is known whether the server has published a window.

Each window adds a snapshot without rows to it, in the request that publishes the window's tables, and asks
that the newest one be the one that it has read before. So of two requests that have read the same one, one is refused:
who adds a snapshot of their own makes it certain that the request of a killed run does nothing any more.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from airflow_ddlrepl.engines.lake.connection.files import Files
from airflow_ddlrepl.engines.lake.connection.location import Location
from airflow_ddlrepl.engines.lake.connection.warehouse import file_refusals
from airflow_ddlrepl.engines.lake.rest.client import RestClient, identifier, refused, unreachable
from airflow_ddlrepl.engines.lake.rest.differences import main
from airflow_ddlrepl.model.names import TableName

NAMESPACE = "ddlrepl"
"""The namespace of our tables in a REST catalog."""
_RETAINED = 10
"""So many of the newest windows can be seen in the table."""
_ATTEMPTS = 20


@dataclass(frozen=True, slots=True)
class Marks:
    """These are the marks of the windows of all channels that have their state in one database."""

    client: RestClient
    place: Location

    @property
    def name(self) -> TableName:
        """Return the name of the table."""
        return TableName(NAMESPACE, f"windows_{self.place.spark_catalog.rpartition('_')[2]}")

    def now(self) -> dict[str, Any]:
        """Return the metadata of the table, which is made where there is none."""
        for _ in range(2):
            if (found := self.client.table(self.name, "all")) is not None:
                metadata: dict[str, Any] = found["metadata"]
                return metadata
            self.client.add_namespace(NAMESPACE)
            field = {"id": 1, "name": "window", "required": False, "type": "string"}
            schema = {"type": "struct", "schema-id": 0, "fields": [field]}
            self.client.create(self.name, {"schema": schema, "properties": {"format-version": "2"}})
        raise unreachable(self.client.server, f"it makes the table {self.name}, and does not have it")

    def adding(self, before: dict[str, Any], mark: int, window: str) -> dict[str, Any]:
        """Return the change that adds a mark, if no other came after the metadata that was read before."""
        known = sorted(before.get("snapshots") or (), key=lambda one: one["sequence-number"])
        newest = main(before)
        snapshot = {
            "snapshot-id": mark,
            **({"parent-snapshot-id": newest} if newest is not None else {}),
            "sequence-number": before["last-sequence-number"] + 1,
            "timestamp-ms": max(int(time.time() * 1000), before["last-updated-ms"]),
            "manifest-list": self._no_files(),
            "summary": {"operation": "append", "ddlrepl.window": window},
            "schema-id": before["current-schema-id"],
        }
        updates = [
            {"action": "add-snapshot", "snapshot": snapshot},
            {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": mark},
        ]
        if expired := [one["snapshot-id"] for one in known[: 1 - _RETAINED]]:
            updates.append({"action": "remove-snapshots", "snapshot-ids": expired})
        return {
            "identifier": identifier(self.name),
            "requirements": [
                {"type": "assert-table-uuid", "uuid": before["table-uuid"]},
                {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": newest},
            ],
            "updates": updates,
        }

    def decide(self, mark: int) -> bool:
        """Has the server published the window of a mark? If not, it never does from now on."""
        for _ in range(_ATTEMPTS):
            now = self.now()
            if mark in {one["snapshot-id"] for one in now.get("snapshots") or ()}:
                return True
            answer = self.client.commit([self.adding(now, new_mark(), f"none, in place of {mark}")])
            if answer.is_good:
                return False
            if answer.status != HTTPStatus.CONFLICT:
                raise refused(self.client.server, answer)
        raise unreachable(self.client.server, f"others change {self.name} all the time")

    def _no_files(self) -> str:
        """Return the path of a list of no files, which is written where it is missing."""
        files, path = self.place.files, f"{self.place.warehouse}/ddlrepl_windows/no_files.avro"
        with file_refusals():
            if path not in files.inside(path.rpartition("/")[0]):
                _write_empty_list(files, path)
        return path


def new_mark() -> int:
    """Return a number that no other window has."""
    return secrets.randbits(62) + 1


def _write_empty_list(files: Files, path: str) -> None:
    from pyiceberg.io import load_file_io
    from pyiceberg.manifest import write_manifest_list

    output = load_file_io(dict(files.properties), path).new_output(path)
    with write_manifest_list(2, output, 1, None, 1, "null"):
        pass
