"""What changed between two shapes of a table, in words, without asking an engine what its types mean."""

from __future__ import annotations

from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.model.table import Column, Table


def changes_between(before: Table | None, after: Table | None) -> list[str]:
    """Return what changed between two shapes of a table; columns are matched by identity."""
    if after is None:
        return ["the table is dropped"]
    if before is None:
        return [f"the table has {len(after.columns)} columns"]
    found = [f"renamed from {before.name} to {after.name}"] if before.name != after.name else []
    old, new = {one.id: one for one in before.columns}, {one.id: one for one in after.columns}
    found += [f"column {new[i].name} {new[i].type.text} is added" for i in new if i not in old]
    found += [f"column {old[i].name} is dropped" for i in old if i not in new]
    for i in new:
        if i in old:
            found += _of_a_column(old[i], new[i])
    if before.key != after.key:
        found.append("the key is another one")
    if before != after and not found:
        found.append("something else of its shape changes")
    return [redact(one) for one in found]


def _of_a_column(old: Column, new: Column) -> list[str]:
    found = [f"column {old.name} is renamed to {new.name}"] if old.name != new.name else []
    if old.type != new.type:
        found.append(f"column {new.name} changes its type from {old.type.text} to {new.type.text}")
    if old.nullable != new.nullable:
        found.append(f"column {new.name} {'may be NULL' if new.nullable else 'may not be NULL'}")
    if old.default != new.default:
        found.append(f"column {new.name} {'has another default' if new.default else 'has no default any more'}")
    return found
