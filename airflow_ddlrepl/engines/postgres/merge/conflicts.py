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


def resolve(cursor: Any, staged: Staged) -> Resolved:
    """Decide the conflicts of a staged net change in the open transaction.

    Raises RowsRefused INT-150 for a conflict without an answer, INT-152 for values that have no order.
    """
    by = staged.conflicts
    stages = [stage for stage in KEY_PREFIX if staged.count(stage)]
    if by is None or not stages:
        return Resolved(staged, {})
    for stage in stages:
        cursor.execute(_lock(staged, stage).encode())
    rows, counts = dict(staged.rows), Counter[str]()
    discarded: list[DiscardedRow] = []
    for stage in stages:
        _mark(cursor, staged, stage, by)
        cursor.execute(f"SELECT q, v, count(*) FROM {staged.from_(stage)} WHERE q IS NOT NULL GROUP BY 1, 2".encode())
        for name, wins, count in cursor.fetchall():
            conflict = Conflict(name)
            answer = by.answer_to(conflict)
            if answer is None:
                raise _no_answer(cursor, staged, stage, conflict, count)
            is_stored = answer.resolution is Resolution.DISCARD
            counts[f"{conflict}, {answer}: {DISCARDED if is_stored else APPLIED if wins else LEFT_OUT}"] += count
            if is_stored:
                discarded += _rows(cursor, staged, stage, conflict)
        rows[stage] -= _leave_out(cursor, staged, stage)
    return Resolved(replace(staged, rows=rows), counts, tuple(discarded))


def key_texts(staged: Staged) -> Iterator[str]:
    """Yield for each stage SQL that returns the texts of its keys, by which discarded rows are found."""
    for stage in KEY_PREFIX:
        if staged.count(stage):
            yield f"SELECT {_key_text(staged, stage)} AS key FROM {staged.from_(stage)} s"


def _key_text(staged: Staged, stage: Stage) -> str:
    return texts_of_key((column.id, column.text("s", KEY_PREFIX[stage])) for column in staged.keys)


def _lock(staged: Staged, stage: Stage) -> str:
    """Return the statement that locks the target's rows of a stage until the transaction ends."""
    return (
        f"SELECT count(*) FROM (SELECT FROM {staged.there} t JOIN {staged.from_(stage)} s"
        f" ON {key_is(staged, KEY_PREFIX[stage])} FOR UPDATE OF t) AS locked"
    )


def _mark(cursor: Any, staged: Staged, stage: Stage, by: ConflictAnswers) -> None:
    """Write into the staged rows which conflict each has, and whether the change wins."""
    there, key = staged.there, key_is(staged, KEY_PREFIX[stage])
    if (missing := MISSING.get(stage)) is not None:
        expected = " AND s.w" if stage is Stage.DELETES else ""
        cursor.execute(
            f"UPDATE {staged.from_(stage)} s SET q = {literal(missing)}, v = {_wins(staged, by.answer_to(missing))}"
            f" WHERE NOT EXISTS (SELECT FROM {there} t WHERE {key}){expected}".encode()
        )
    if differs := _is_another(staged, stage, by):
        exists = EXISTS[stage]
        statement = (
            f"UPDATE {staged.from_(stage)} s SET q = {literal(exists)}, v = {_wins(staged, by.answer_to(exists))}"
            f" FROM {there} t WHERE {key} AND {differs}"
        )
        try:
            cursor.execute(statement.encode())
        except cursor.connection.ProgrammingError as error:
            raise RowsRefused(
                f"values of {', '.join(_named(by.answer_to(exists)))} can't be compared: {str(error).splitlines()[0]}",
                code="INT-152",
                table=staged.target,
                hint=f"name a column in the answer to {exists} whose type has an order",
            ) from error


def _is_another(staged: Staged, stage: Stage, by: ConflictAnswers) -> str:
    """Return SQL that is true where the target's row is not the one that the change was made to; empty: it never is.

    A row that is as the change leaves it is no conflict.
    """
    ours = [column for column in staged.columns if column.is_of_source]
    if stage is Stage.INSERTS:
        return f"NOT ({same_image(ours)})"
    of_deletes = stage is Stage.DELETES
    compared = [c for c in ours if not c.is_key and by.compares(c.source_name, of_deletes=of_deletes)]
    if not compared:
        return ""
    differs = f"NOT ({same_image(compared, 'k')})"
    return f"{differs} AND NOT ({same_image(ours)})" if stage is Stage.UPDATES else differs


def _wins(staged: Staged, answer: ConflictAnswer | None) -> str:
    """Return SQL for whether the change wins; NULL without an answer."""
    if answer is None:
        return "NULL"
    if not answer.columns:
        return "true" if answer.resolution is Resolution.OVERWRITE else "false"
    by_name = {column.source_name: column for column in staged.columns}
    is_max = answer.resolution in (Resolution.USE_MAX, Resolution.USE_MAX_EQ)
    wins = "true" if answer.resolution in (Resolution.USE_MAX_EQ, Resolution.USE_MIN_EQ) else "false"
    for name in reversed(answer.columns):
        if name not in by_name:
            raise RowsRefused(
                f"the rows have no column {name}, by which a conflict is resolved ({answer})",
                code="INT-152",
                table=staged.target,
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


def _named(answer: ConflictAnswer | None) -> tuple[str, ...]:
    return answer.columns if answer is not None else ()


def _leave_out(cursor: Any, staged: Staged, stage: Stage) -> int:
    """Remove the changes that lose from their staging table; return how many they were. Others set whole rows."""
    if flags := staged.held.get(stage, ()):
        sets = ", ".join(f"h{column} = true" for column in flags)
        cursor.execute(f"UPDATE {staged.from_(stage)} SET {sets} WHERE v".encode())
    cursor.execute(f"DELETE FROM {staged.from_(stage)} WHERE NOT v".encode())
    return int(cursor.rowcount)


def _rows(cursor: Any, staged: Staged, stage: Stage, conflict: Conflict) -> Iterator[DiscardedRow]:
    """Yield the changes that are stored because they lose a conflict."""
    prefix = "k" if stage is Stage.DELETES else "c"
    texts = row_texts([(c.name, c.text("s", prefix)) for c in staged.columns if c.is_of_source])
    cursor.execute(
        f"SELECT {_key_text(staged, stage)}, {texts}::text, s.p FROM {staged.from_(stage)} s"
        f" WHERE s.q = {literal(conflict)}".encode()
    )
    for key, values, at in cursor.fetchall():
        why = f"{conflict}: {WHY[conflict]}"
        yield DiscardedRow(staged.table_id, tuple(key), why, json.loads(values), Position(at), conflict=conflict)


def _no_answer(cursor: Any, staged: Staged, stage: Stage, conflict: Conflict, count: int) -> RowsRefused:
    rows = f"{staged.from_(stage)} s WHERE s.q = {literal(conflict)}"
    cursor.execute(f"SELECT {_key_text(staged, stage)} FROM {rows} LIMIT 1".encode())
    key = ", ".join(cursor.fetchone()[0])
    return RowsRefused(
        f"{conflict}: {WHY[conflict]}; {count} changes, one with key ({key})",
        code="INT-150",
        table=staged.target,
        hint=f"write an answer to {conflict} in `conflicts` of the channel file, or make the rows equal:"
        " `ddlrepl compare --repair` takes the source's",
    )
