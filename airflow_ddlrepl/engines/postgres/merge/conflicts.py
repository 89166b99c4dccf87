"""This module finds staged changes that were made to another row than the target has, and decides which of them count.

It runs in the transaction that merges them. The target's rows are locked first, so that none changes in between; what
loses leaves the staging tables, and the rest is merged as rows that may be there or be missing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.quoting import literal, quote
from airflow_ddlrepl.engines.postgres.merge.staging_tables import Stage, Staged, StagedColumn
from airflow_ddlrepl.engines.postgres.merge.statements import key_is, same_image
from airflow_ddlrepl.engines.postgres.types.misfits import row_texts, texts_of_key
from airflow_ddlrepl.errors import RowsRefused
from airflow_ddlrepl.integrate.steps.discarded_row import DiscardedRow
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.settings.conflicts import Conflict, ConflictAnswer, ConflictAnswers, Resolution

KEY_PREFIX = {Stage.DELETES: "k", Stage.UPDATES: "c", Stage.INSERTS: "c"}
"""The staging columns that have the key of a stage's rows."""
EXISTS = {
    Stage.DELETES: Conflict.DELETE_ROW_EXISTS,
    Stage.UPDATES: Conflict.UPDATE_ROW_EXISTS,
    Stage.INSERTS: Conflict.INSERT_ROW_EXISTS,
}
MISSING = {Stage.DELETES: Conflict.DELETE_ROW_MISSING, Stage.UPDATES: Conflict.UPDATE_ROW_MISSING}
WHY = {
    Conflict.INSERT_ROW_EXISTS: "an insert finds another row under its key",
    Conflict.UPDATE_ROW_EXISTS: "an update finds another row than it was made to",
    Conflict.UPDATE_ROW_MISSING: "an update finds no row",
    Conflict.DELETE_ROW_EXISTS: "a delete finds another row than it was made to",
    Conflict.DELETE_ROW_MISSING: "a delete finds no row",
}
APPLIED, LEFT_OUT, DISCARDED = "applied", "left out", "discarded"


@dataclass(frozen=True, slots=True)
class Resolved:
    """This is what is left of staged changes when their conflicts are decided.

    counts: how many changes, by conflict with its answer, and what became of them. discarded: those to store.
    """

    staged: Staged
    counts: Mapping[str, int]
    discarded: tuple[DiscardedRow, ...] = ()


def resolve(cursor: Any, staging: Staged) -> Resolved:
    """Decide the conflicts of a staged net change in the open transaction.

    Raises RowsRefused INT-150 for a conflict without an answer, INT-152 for values that have no order.
    """
    by = staging.conflicts
    stages = [stage for stage in KEY_PREFIX if staging.count(stage)]
    if by is None or not stages:
        return Resolved(staging, {})
    for stage in stages:
        cursor.execute(_lock(staging, stage).encode())
    rows, counts = dict(staging.rows), Counter[str]()
    discarded: list[DiscardedRow] = []
    for stage in stages:
        _mark(cursor, staging, stage, by)
        cursor.execute(f"SELECT q, v, count(*) FROM {staging.from_(stage)} WHERE q IS NOT NULL GROUP BY 1, 2".encode())
        for name, wins, count in cursor.fetchall():
            conflict = Conflict(name)
            answer = by.answer_to(conflict)
            if answer is None:
                raise _no_answer(cursor, staging, stage, conflict, count)
            is_stored = answer.resolution is Resolution.DISCARD
            counts[f"{conflict}, {answer}: {DISCARDED if is_stored else APPLIED if wins else LEFT_OUT}"] += count
            if is_stored:
                discarded += _rows(cursor, staging, stage, conflict)
        rows[stage] -= _leave_out(cursor, staging, stage)
    return Resolved(replace(staging, rows=rows), counts, tuple(discarded))


def key_texts(staging: Staged) -> Iterator[str]:
    """Yield for each stage SQL that returns the texts of its keys, by which discarded rows are found."""
    for stage in KEY_PREFIX:
        if staging.count(stage):
            yield f"SELECT {_key_text(staging, stage)} AS key FROM {staging.from_(stage)} s"


def _key_text(staging: Staged, stage: Stage) -> str:
    return texts_of_key((column.id, column.text("s", KEY_PREFIX[stage])) for column in staging.keys)


def _lock(staging: Staged, stage: Stage) -> str:
    """Return the statement that locks the target's rows of a stage until the transaction ends."""
    return (
        f"SELECT count(*) FROM (SELECT FROM {staging.there} t JOIN {staging.from_(stage)} s"
        f" ON {key_is(staging, KEY_PREFIX[stage])} FOR UPDATE OF t) AS locked"
    )


def _mark(cursor: Any, staging: Staged, stage: Stage, by: ConflictAnswers) -> None:
    """Write into the staged rows which conflict each has, and whether the change wins."""
    there, key = staging.there, key_is(staging, KEY_PREFIX[stage])
    if (missing := MISSING.get(stage)) is not None:
        expected = " AND s.w" if stage is Stage.DELETES else ""
        cursor.execute(
            f"UPDATE {staging.from_(stage)} s SET q = {literal(missing)}, v = {_wins(staging, by.answer_to(missing))}"
            f" WHERE NOT EXISTS (SELECT FROM {there} t WHERE {key}){expected}".encode()
        )
    if differs := _is_another(staging, stage, by):
        exists = EXISTS[stage]
        statement = (
            f"UPDATE {staging.from_(stage)} s SET q = {literal(exists)}, v = {_wins(staging, by.answer_to(exists))}"
            f" FROM {there} t WHERE {key} AND {differs}"
        )
        try:
            cursor.execute(statement.encode())
        except cursor.connection.ProgrammingError as error:
            raise RowsRefused(
                f"values of {', '.join(_named(by.answer_to(exists)))} can't be compared: {str(error).splitlines()[0]}",
                code="INT-152",
                table=staging.target,
                hint=f"name a column in the answer to {exists} whose type has an order",
            ) from error


def _is_another(staging: Staged, stage: Stage, by: ConflictAnswers) -> str:
    """Return SQL that is true where the target's row is not the one that the change was made to; empty: it never is.

    A row that is as the change leaves it is no conflict.
    """
    ours = [column for column in staging.columns if column.is_of_source]
    if stage is Stage.INSERTS:
        return f"NOT ({same_image(ours)})"
    of_deletes = stage is Stage.DELETES
    compared = [c for c in ours if not c.is_key and by.compares(c.source_name, of_deletes=of_deletes)]
    if not compared:
        return ""
    differs = f"NOT ({same_image(compared, 'k')})"
    return f"{differs} AND NOT ({same_image(ours)})" if stage is Stage.UPDATES else differs


def _wins(staging: Staged, response: ConflictAnswer | None) -> str:
    """Return SQL for whether the change wins; NULL without an answer."""
    if response is None:
        return "NULL"
    if not response.columns:
        return "true" if response.resolution is Resolution.OVERWRITE else "false"
    by_name = {column.source_name: column for column in staging.columns}
    is_max = response.resolution in (Resolution.USE_MAX, Resolution.USE_MAX_EQ)
    wins = "true" if response.resolution in (Resolution.USE_MAX_EQ, Resolution.USE_MIN_EQ) else "false"
    for name in reversed(response.columns):
        if name not in by_name:
            raise RowsRefused(
                f"the rows have no column {name}, by which a conflict is resolved ({response})",
                code="INT-152",
                table=staging.target,
                hint="name a column that the source and the target have",
            )
        column = by_name[name]
        new, old = column.image("s"), f"t.{quote(column.name)}"
        further = _further(column, new, old, is_max)
        wins = (
            f"CASE WHEN {new} IS NULL AND {old} IS NULL THEN {wins} WHEN {old} IS NULL THEN true"
            f" WHEN {new} IS NULL THEN false WHEN {column.equals(new, old)} THEN {wins} ELSE {further} END"
        )
    return wins


def _further(column: StagedColumn, new: str, old: str, is_max: bool) -> str:
    sign = ">" if is_max else "<"
    return f"{new} OPERATOR({quote(column.operators)}.{sign}) {old}" if column.operators else f"{new} {sign} {old}"


def _named(response: ConflictAnswer | None) -> tuple[str, ...]:
    return response.columns if response is not None else ()


def _leave_out(cursor: Any, staging: Staged, stage: Stage) -> int:
    """Remove the changes that lose from their staging table; return how many they were. Others set whole rows."""
    if flags := staging.held.get(stage, ()):
        sets = ", ".join(f"h{column} = true" for column in flags)
        cursor.execute(f"UPDATE {staging.from_(stage)} SET {sets} WHERE v".encode())
    cursor.execute(f"DELETE FROM {staging.from_(stage)} WHERE NOT v".encode())
    return int(cursor.rowcount)


def _rows(cursor: Any, staging: Staged, stage: Stage, conflict: Conflict) -> Iterator[DiscardedRow]:
    """Yield the changes that are stored because they lose a conflict."""
    prefix = "k" if stage is Stage.DELETES else "c"
    texts = row_texts([(c.name, c.text("s", prefix)) for c in staging.columns if c.is_of_source])
    cursor.execute(
        f"SELECT {_key_text(staging, stage)}, {texts}::text, s.p FROM {staging.from_(stage)} s"
        f" WHERE s.q = {literal(conflict)}".encode()
    )
    for key, values, at in cursor.fetchall():
        why = f"{conflict}: {WHY[conflict]}"
        yield DiscardedRow(staging.table_id, tuple(key), why, json.loads(values), Position(at), conflict=conflict)


def _no_answer(cursor: Any, staging: Staged, stage: Stage, conflict: Conflict, count: int) -> RowsRefused:
    rows = f"{staging.from_(stage)} s WHERE s.q = {literal(conflict)}"
    cursor.execute(f"SELECT {_key_text(staging, stage)} FROM {rows} LIMIT 1".encode())
    key = ", ".join(cursor.fetchone()[0])
    return RowsRefused(
        f"{conflict}: {WHY[conflict]}; {count} changes, one with key ({key})",
        code="INT-150",
        table=staging.target,
        hint=f"write an answer to {conflict} in `conflicts` of the channel file, or make the rows equal:"
        " `ddlrepl compare --repair` takes the source's",
    )
