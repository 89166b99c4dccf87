"""A program writes no table at a target that uses what belongs to a role that the channel does not trust."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from airflow_ddlrepl.adapt.program.program import Program, Slice
from airflow_ddlrepl.engines.postgres.owners.strangers import refuse_strangers
from airflow_ddlrepl.errors import identified
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.types import TypeDefinition


def refuse_program_of_strangers(
    cursor: Any, program: Program, pieces: Iterable[Slice], trusted_roles: Collection[str]
) -> None:
    """Raise StrangeOwner ADP-192 about the first table of a program that would use what belongs to a stranger.

    cursor: in the transaction that runs the program. pieces: the slices that have rows. trusted_roles: names of roles
    that may own something.
    """
    uses: dict[TableName, tuple[TypeDefinition, ...]] = {}
    ids: dict[str, int] = {}
    for table_id, name, types in _touched(program, pieces):
        uses[name] = (*uses.get(name, ()), *types)
        ids[str(name)] = table_id
    with identified(ids):
        refuse_strangers(cursor, uses, trusted_roles)


def _touched(program: Program, pieces: Iterable[Slice]) -> Iterator[tuple[int, TableName, tuple[TypeDefinition, ...]]]:
    """Yield the id and the name at the target of each table that is written or altered, and types that it will have."""
    for piece in pieces:
        yield piece.table_id, piece.name, ()
    for step in program.steps:
        acts = step.truncates or (step.plan is not None and any(part.sql for part in step.plan.steps))
        if acts and step.before is not None:
            yield step.table_id, step.before.name, ()
        if acts and step.plan is not None:
            yield step.table_id, step.plan.target, step.plan.shape.types if step.plan.shape is not None else ()
