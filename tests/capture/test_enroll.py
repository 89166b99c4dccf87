"""Which shape a table has once a statement is committed, by what its transaction saw of the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_ddlrepl.capture.enroll import enroll, enroll_with_silent
from airflow_ddlrepl.engines.postgres.types.type_system import POSTGRES_TYPES
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey
from airflow_ddlrepl.model.revision import Origin, Revision
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import DataType, TypeDefinition, TypeKind

INT = DataType("integer", "pg_catalog", "int4", id=23)
MOOD = DataType("public.mood", "public", "mood", TypeKind.ENUM, id=20001)
DEFINED = TypeDefinition(20001, "public", "mood", TypeKind.ENUM, labels=("a",))
EPOCH = 1 << 32


def shape(*columns: int, table_id: int = 1) -> Table:
    return Table(table_id, TableName("public", f"t{table_id}"), tuple(Column(i, f"c{i}", INT) for i in columns))


def ddl(lsn: int, xid: int, snapshot: str | None, *tables: Table) -> Event:
    settings = {} if snapshot is None else {"snapshot": snapshot}
    return Event(EventKind.DDL, LogKey(lsn, 0), xid % EPOCH, 0, settings=settings, tables=tables)


def inspected(lsn: int, snapshot: str, *tables: Table) -> Event:
    return replace(ddl(lsn, 0, snapshot, *tables), is_inspected=True)


def shapes(*events: Event, known: tuple[Revision, ...] = ()) -> list[Table | None]:
    newest = {revision.table_id: revision for revision in known}
    found = enroll(events, newest, lambda *_: True, lambda i: [r for r in known if r.table_id == i])
    return [revision.table for revision in found]


def revision(number: int, lsn: int, xid: int | None, table: Table | None) -> Revision:
    return Revision(1, number, LogKey(lsn, 0), table, Origin.IN_LOG, transaction_id=xid)


def test_changes_that_do_not_see_each_other_add_up() -> None:
    first = ddl(10, 100, "100:100:", shape(1))
    assert shapes(first, ddl(20, 102, "102:103:", shape(1, 2)), ddl(30, 101, "101:102:", shape(1, 3))) == [
        shape(1),
        shape(1, 2),
        shape(1, 2, 3),
    ]


def test_a_statement_goes_on_from_its_own_transaction() -> None:
    """The second statement of transaction 101 still does not see transaction 102."""
    mine = (ddl(30, 101, "101:102:", shape(1, 3)), ddl(30, 101, "101:102:", shape(1, 3, 4)))
    found = shapes(ddl(10, 100, "100:100:", shape(1)), ddl(20, 102, "102:103:", shape(1, 2)), *mine)
    assert found[-1] == shape(1, 2, 3, 4)


@pytest.mark.parametrize("seen", ["103:103:", "101:103:101", None])
def test_what_a_statement_saw_is_not_done_again(seen: str | None) -> None:
    """Transaction 102 added a column that 101 dropped then. Older helpers tell no snapshot: they are believed."""
    first = (ddl(10, 100, "100:100:", shape(1)), ddl(20, 102, "102:103:", shape(1, 2)))
    assert shapes(*first, ddl(30, 101, seen, shape(1))) == [shape(1), shape(1, 2), shape(1)]


def test_a_change_of_four_billion_transactions_ago_is_old() -> None:
    """The log tells 32 bits of a transaction's id: 100 could be the next one as well as the first one."""
    known = (
        revision(0, 5, None, shape(1)),
        revision(1, 10, 3_000_000_000, shape(1, 2)),
        revision(2, 15, EPOCH + 200, shape(1)),
    )
    now = EPOCH + 1_500_000_000
    assert shapes(ddl(20, now, f"{now}:{now}:", shape(1, 3)), known=known) == [shape(1, 3)]


def test_a_table_that_was_dropped_unseen_stays_dropped() -> None:
    gone = Event(EventKind.DDL, LogKey(20, 0), 102, 0, dropped=((1, TableName("public", "t1")),))
    gone.settings["snapshot"] = "102:103:"
    assert shapes(ddl(10, 100, "100:100:", shape(1)), gone, ddl(30, 101, "101:102:", shape(1, 3))) == [shape(1), None]


def test_a_type_that_an_inspection_found_moved_unseen_is_called_by_its_new_name() -> None:
    """An inspection between the statement and its commit told the other table; this one was locked."""
    moved = replace(DEFINED, schema="s2")
    spelled = replace(MOOD, text="s2.mood", schema="s2")
    mine, other = (Table(i, TableName("public", f"t{i}"), (Column(1, "c1", MOOD),), types=(DEFINED,)) for i in (1, 2))
    known = tuple(Revision(t.id, 0, LogKey(5, 0), t, Origin.INSPECTED) for t in (mine, other))
    found = inspected(20, "101:103:101", other.with_(columns=(Column(1, "c1", spelled),), types=(moved,)))
    own = (Column(1, "c1", MOOD), Column(2, "c2", INT))
    (_, merged) = shapes(found, ddl(30, 101, "101:102:", mine.with_(columns=own)), known=known)
    assert merged is not None and merged.types == (moved,)
    assert [column.type for column in merged.columns] == [spelled, INT]


@pytest.mark.parametrize(
    ("snapshot", "columns"),
    [("101:102:", (1, 2, 3)), ("101:104:102", (1, 2, 3)), ("101:103:", (1, 3)), ("9:103:", (1, 3))],
)
def test_an_inspected_change_is_put_together_with_a_statement_that_saw_less(
    snapshot: str, columns: tuple[int, ...]
) -> None:
    """The inspection had seen all up to 102, and column 2; a statement that had seen all of that has dropped it."""
    known = (Revision(1, 0, LogKey(5, 0), shape(1), Origin.INSPECTED),)
    found = shapes(inspected(20, "101:103:101", shape(1, 2)), ddl(30, 101, snapshot, shape(1, 3)), known=known)
    assert found == [shape(1, 2), shape(*columns)]


def test_a_type_that_moved_unseen_is_called_by_its_new_name() -> None:
    moved = TypeDefinition(20001, "s2", "mood", TypeKind.ENUM, labels=("a", "b"))
    spelled = DataType("s2.mood[]", "s2", "mood", TypeKind.ARRAY, id=20002)
    other = Table(2, TableName("public", "t2"), (Column(1, "c1", spelled),), types=(moved,))
    mine = Table(1, TableName("public", "t1"), (Column(1, "c1", MOOD),), types=(DEFINED,))
    (_, merged) = shapes(ddl(20, 102, "102:103:", other), ddl(30, 101, "101:102:", mine))
    assert merged is not None and merged.types == (moved,)
    assert [column.type.text for column in merged.columns] == ["s2.mood"]


def test_a_type_that_moves_while_its_column_is_made_anew_unseen() -> None:
    """Another transaction drops the only column of the type and adds one of it, in two statements."""
    moved = replace(DEFINED, schema="s2")
    there = replace(MOOD, text="s2.mood", schema="s2")

    def using(number: int, of: DataType, definition: TypeDefinition) -> Table:
        return Table(1, TableName("public", "t1"), (Column(number, "m", of),), types=(definition,))

    first = ddl(10, 100, "100:100:", using(2, MOOD, DEFINED))
    others = (ddl(20, 102, "102:103:", shape()), ddl(20, 102, "102:103:", using(4, MOOD, DEFINED)))
    mine = (ddl(30, 101, "101:102:", using(2, there, moved)), ddl(30, 101, "101:102:", using(2, there, moved)))
    assert shapes(first, *others, *mine)[-1] == using(4, there, moved)


def test_what_a_transaction_goes_on_to_tell_of_a_type_that_moved_unseen() -> None:
    """It makes a table of the type, and adds a label to it; both its statements tell the former name."""
    moved, there = replace(DEFINED, schema="s2"), replace(MOOD, text="s2.mood", schema="s2")

    def using(number: int, of: DataType, definition: TypeDefinition) -> Table:
        return Table(number, TableName("public", f"t{number}"), (Column(1, "c1", of),), types=(definition,))

    known = (Revision(1, 0, LogKey(5, 0), using(1, MOOD, DEFINED), Origin.INSPECTED),)
    other = ddl(20, 102, "102:103:", using(1, there, moved))
    longer = replace(DEFINED, labels=("a", "b"))
    made = using(2, MOOD, DEFINED)
    labelled = using(1, MOOD, longer), using(2, MOOD, longer)
    mine = (ddl(30, 101, "101:102:", made), ddl(30, 101, "101:102:", made), ddl(30, 101, "101:102:", *labelled))
    both = replace(moved, labels=("a", "b"))
    assert shapes(other, *mine, known=known) == [
        using(1, there, moved),
        using(2, there, moved),
        using(1, there, both),
        using(2, there, both),
    ]


def after(earlier: Table, told: Event, snapshot: str) -> Event:
    """The statement with what it was said about, as its start saw it."""
    return replace(told, before=(earlier,), settings={**told.settings, "snapshot_before": snapshot})


def silent(*events: Event, known: tuple[Revision, ...] = ()) -> list[tuple[Table, Event]]:
    newest = {1: known[-1]} if known else {}
    found, changes = enroll_with_silent(events, newest, lambda *_: True, lambda _: known, POSTGRES_TYPES)
    merged = sorted([*events, *(change for _, change in changes)], key=lambda event: event.key)
    assert found == enroll(merged, newest, lambda *_: True, lambda _: known)
    return changes


def test_a_statement_shows_what_was_changed_in_silence() -> None:
    first = ddl(10, 100, "100:100:", shape(1))
    second = after(shape(1, 2), ddl(30, 102, "102:102:", shape(1, 2, 3)), "101:102:")
    [(known, change)] = silent(first, second)
    assert (known, change.tables, change.is_inspected) == (shape(1), (shape(1, 2),), True)
    assert change.key == LogKey(30, START_OF_TRANSACTION)
    assert shapes(first, change, second) == [shape(1), shape(1, 2), shape(1, 2, 3)]
    later = ddl(40, 103, "103:103:", shape(1, 3))
    assert shapes(first, change, second, later)[-1] == shape(1, 3)


def test_a_statement_that_undoes_what_was_changed_in_silence_shows_it() -> None:
    first = ddl(10, 100, "100:100:", shape(1))
    undone = after(shape(1, 2), ddl(30, 102, "102:102:", shape(1)), "101:102:")
    [(_, change)] = silent(first, undone)
    assert shapes(first, change, undone) == [shape(1), shape(1, 2), shape(1)]
    gone = replace(undone, tables=(), dropped=((1, TableName("public", "t1")),))
    [(_, change)] = silent(first, gone)
    assert shapes(first, change, gone) == [shape(1), shape(1, 2), None]


def test_what_its_own_transaction_changed_in_silence_stands_before_the_statement() -> None:
    first = ddl(10, 100, "100:100:", shape(1))
    told = replace(ddl(30, 102, "101:102:", shape(1, 2)), key=LogKey(30, 4))
    again = after(shape(1, 2, 3), replace(told, key=LogKey(30, 9), tables=(shape(1, 2, 3, 4),)), "101:102:")
    [(known, change)] = silent(first, told, again)
    assert (known, change.tables, change.key) == (shape(1, 2), (shape(1, 2, 3),), LogKey(30, 8))


def test_a_start_that_did_not_see_what_others_told_shows_nothing() -> None:
    """Transaction 102 waited for 101, whose lock it got; what stood before that is known."""
    known = (revision(0, 10, 100, shape(1)), revision(1, 20, 101, shape(1, 2)))
    waited = after(shape(1), ddl(30, 102, "102:102:", shape(1, 2, 3)), "101:102:101")
    assert silent(waited, known=known) == []
    [(_, change)] = silent(replace(waited, before=(shape(1, 5),)), known=known)  # but this it shows, put together
    assert change.tables == (shape(1, 2, 5),)


def test_a_table_that_is_not_known_or_as_it_was_known_shows_nothing() -> None:
    told = after(shape(1), ddl(30, 102, "102:102:", shape(1, 2)), "101:102:")
    stored = Table(1, TableName("public", "t1"), (Column(1, "c1", INT, missing="7"),))  # VACUUM FULL stores the values
    assert silent(told) == []
    assert silent(told, known=(revision(0, 10, 100, shape(1)),)) == []
    assert silent(told, known=(revision(0, 10, 100, stored),)) == []
    assert silent(told, known=(revision(0, 10, 100, None),)) == []


@pytest.mark.parametrize(("snapshot", "reads"), [("103:103:", 0), ("101:103:101", 1), ("102:102:", 1)])
def test_older_shapes_are_read_only_where_a_statement_may_not_have_seen_them(snapshot: str, reads: int) -> None:
    known = [revision(0, 10, 100, shape(1)), revision(1, 20, 102, shape(1, 2))]
    asked: list[int] = []

    def past(table_id: int) -> list[Revision]:
        asked.append(table_id)
        return known

    found = enroll([ddl(30, 103, snapshot, shape(1, 2, 3))], {1: known[-1]}, lambda *_: True, past)
    assert [one.table for one in found] == [shape(1, 2, 3)] and len(asked) == reads
