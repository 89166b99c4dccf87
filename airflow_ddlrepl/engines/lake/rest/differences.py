"""This module says what takes a table from one metadata file to another, as the protocol of REST catalogs has it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from airflow_ddlrepl.engines.lake.rest.client import identifier
from airflow_ddlrepl.model.names import TableName

Metadata = Mapping[str, Any]
Update = dict[str, Any]


def change(name: TableName, base: Metadata, new: Metadata, own: Collection[str] = ()) -> dict[str, Any]:
    """Return the change of a table that a server takes while the table is what it was. own: properties of `new` alone.

    base, new: what its metadata files have.
    """
    return {"identifier": identifier(name), "requirements": requirements(base), "updates": updates(base, new, own)}


def requirements(base: Metadata) -> list[Update]:
    """Return what must be so at the server for a change to be right that was made of this metadata file."""
    return [
        {"type": "assert-table-uuid", "uuid": base["table-uuid"]},
        {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": main(base)},
        {"type": "assert-current-schema-id", "current-schema-id": base["current-schema-id"]},
        {"type": "assert-last-assigned-field-id", "last-assigned-field-id": base["last-column-id"]},
        {"type": "assert-default-spec-id", "default-spec-id": base["default-spec-id"]},
        {"type": "assert-default-sort-order-id", "default-sort-order-id": base["default-sort-order-id"]},
    ]


def main(metadata: Metadata) -> int | None:
    """Return the id of the snapshot that readers see; None: the table has none."""
    found: int | None = metadata.get("refs", {}).get("main", {}).get("snapshot-id")
    return found


def updates(base: Metadata, new: Metadata, own: Collection[str] = ()) -> list[Update]:
    """Return the steps from one metadata file to a later one of the same table; none: they mean the same."""
    found: list[Update] = []
    if new["format-version"] != base["format-version"]:
        found.append({"action": "upgrade-format-version", "format-version": new["format-version"]})
    return [*found, *_shape(base, new), *_properties(base, new, own), *_snapshots(base, new)]


def _shape(base: Metadata, new: Metadata) -> list[Update]:
    """Return new schemas, partitions and orders, and which is the table's from then on."""
    found: list[Update] = []
    for one in _added(base, new, "schemas", "schema-id"):
        found.append({"action": "add-schema", "schema": one, "last-column-id": new["last-column-id"]})
    if new["current-schema-id"] != base["current-schema-id"]:
        found.append({"action": "set-current-schema", "schema-id": new["current-schema-id"]})
    for one in _added(base, new, "partition-specs", "spec-id"):
        found.append({"action": "add-spec", "spec": one})
    if new["default-spec-id"] != base["default-spec-id"]:
        found.append({"action": "set-default-spec", "spec-id": new["default-spec-id"]})
    for one in _added(base, new, "sort-orders", "order-id"):
        found.append({"action": "add-sort-order", "sort-order": one})
    if new["default-sort-order-id"] != base["default-sort-order-id"]:
        found.append({"action": "set-default-sort-order", "sort-order-id": new["default-sort-order-id"]})
    return found


def _properties(base: Metadata, new: Metadata, own: Collection[str]) -> list[Update]:
    before = base.get("properties", {})
    now = {key: value for key, value in new.get("properties", {}).items() if key not in own}
    now |= {key: before[key] for key in own if key in before}
    changed = {key: value for key, value in now.items() if before.get(key) != value}
    gone = sorted(before.keys() - now.keys())
    found: list[Update] = [{"action": "set-properties", "updates": changed}] if changed else []
    return [*found, *([{"action": "remove-properties", "removals": gone}] if gone else [])]


def _snapshots(base: Metadata, new: Metadata) -> list[Update]:
    """Return new snapshots, where branches and tags are then, and which snapshots have expired."""
    found: list[Update] = []
    for one in sorted(_added(base, new, "snapshots", "snapshot-id"), key=lambda it: it.get("sequence-number", 0)):
        found.append({"action": "add-snapshot", "snapshot": one})
    before, now = base.get("refs", {}), new.get("refs", {})
    for name, ref in now.items():
        if before.get(name) != ref:
            found.append({"action": "set-snapshot-ref", "ref-name": name, **ref})
    found += [{"action": "remove-snapshot-ref", "ref-name": name} for name in sorted(before.keys() - now.keys())]
    for kind in ("statistics", "partition-statistics"):
        gone = _added(new, base, kind, "snapshot-id")
        found += [{"action": f"remove-{kind}", "snapshot-id": one["snapshot-id"]} for one in gone]
        found += [{"action": f"set-{kind}", kind: one} for one in _added(base, new, kind, "snapshot-id")]
    if gone := [one["snapshot-id"] for one in _added(new, base, "snapshots", "snapshot-id")]:
        found.append({"action": "remove-snapshots", "snapshot-ids": gone})
    return found


def _added(base: Metadata, new: Metadata, of: str, key: str) -> list[Any]:
    """Return what the one file has in a list and the other has not, by its key."""
    before = {one[key] for one in base.get(of) or ()}
    return [one for one in new.get(of) or () if one[key] not in before]
