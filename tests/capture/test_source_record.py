"""Which tables were rewritten without a record in the log."""

from __future__ import annotations

import json

from airflow_ddlrepl.capture.source_record import RowsVersion, SourceRecord, follow_rows, rewritten
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.model.table import Table

KNOWN = {7: RowsVersion(100, "1:5 2:5")}


def table(storage: int | None, versions: str | None) -> Table:
    return Table(7, TableName("s", "t"), (), storage=storage, column_versions=versions)


def ddl(after: Table, *before: Table) -> Event:
    return Event(EventKind.DDL, LogKey(1, 0), 1, 0, tables=(after,), before=before)


def test_another_file_and_another_definition_of_a_column_that_stays() -> None:
    assert rewritten(KNOWN, [table(101, "1:5 2:6")], ()) == {7}
    assert not rewritten(KNOWN, [table(101, "1:5 2:6")], {7})  # somebody alters it now


def test_what_gives_no_row_another_value() -> None:
    unlike = (table(101, "1:5 2:5"), table(100, "1:5 2:6"), table(101, "1:5 2:5 3:6"), table(101, "1:5"))
    for one in (*unlike, table(None, "1:6"), table(101, None)):
        assert not rewritten(KNOWN, [one], ())


def test_a_record_explains_what_the_statement_did_and_shows_what_was_before_it() -> None:
    after = table(101, "1:5 2:6")
    rows, unseen = follow_rows(KNOWN, [ddl(after, table(100, "1:5 2:5"))])
    assert not unseen and not rewritten(rows, [after], ())
    rows, unseen = follow_rows(KNOWN, [ddl(table(101, "1:5 2:9"), table(101, "1:5 2:6"))])
    assert unseen == {7} and not rewritten(rows, [table(101, "1:5 2:9")], ())


def test_a_dropped_table_is_forgotten() -> None:
    rows, _ = follow_rows(KNOWN, [Event(EventKind.DDL, LogKey(1, 0), 1, 0, dropped=((7, TableName("s", "t")),))])
    assert not rows


def test_what_is_stored_is_read_again() -> None:
    record = SourceRecord(KNOWN)
    assert SourceRecord.from_json(json.loads(json.dumps(record.to_json()))) == record
    assert SourceRecord.from_json({}) == SourceRecord()
