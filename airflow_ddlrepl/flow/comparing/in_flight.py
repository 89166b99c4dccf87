"""What is in flight is no difference: the log that a target has not applied yet changes it.

A comparison looks at source and target at two moments. What differs, and the log between the target's position and the
end of the source's log is about, says nothing. What differs, and that log is not about, differs still once the target
has applied it: so the result holds for that end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from airflow_ddlrepl.compare.report import Kind, RowDifference, TableReport
from airflow_ddlrepl.engines import source_engine
from airflow_ddlrepl.engines.comparing import CompareTask, WrittenKeys, compare_tables, written_keys
from airflow_ddlrepl.errors import SourceError, TrailError
from airflow_ddlrepl.flow.comparing.log_ahead import LogAhead, log_ahead
from airflow_ddlrepl.flow.comparing.shapes_ahead import ShapesAhead
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState

UNSHOWN = "rows of it are in flight, and the log does not show which: compare again after the next cycle"
CHANGING = "a change of its key is on its way: compare again after the next cycle"
LOADING = "the next cycle loads it"
REWRITTEN = "a statement that gives all rows other values is on its way: compare again after the next cycle"
TOO_MANY = "more rows are in flight than a comparison looks at: compare again after the next cycle"


@dataclass(frozen=True)
class Compared:
    """A compared table is what a comparison has found of one table at one target.

    table: at the source. state: at the target, when the comparison began; None: it has no such table. task: None: its
    rows were not compared. low: the target's position when the comparison began; 0: it has none. is_plain: the target
    has all rows of the source, and loses no conflict.
    """

    report: TableReport
    table: Table
    state: TableState | None
    task: CompareTask | None
    low: Position
    is_plain: bool = False


def settled(run: RunContext, compared: Sequence[Compared], shapes: ShapesAhead, high: Position) -> list[TableReport]:
    """Return the reports with what is in flight counted apart. high: where the source's log ended afterwards."""
    unequal = [one for one in compared if _is_open(one)]
    if not unequal:
        return [one.report for one in compared]
    try:
        with log_ahead(run, min(one.low for one in unequal), high) as ahead:
            judge = _Judge(run, ahead, shapes)
            return [judge.report(one) if _is_open(one) else one.report for one in compared]
    except (SourceError, TrailError) as error:
        log.warning("which differences are in flight is not known: %s: %s", error.code, error.message)
        why = f"the log that the target has not applied can't be read: {error.code}: {error.message}; {error.hint}"
        return [_undecided(one.report, why) if _is_open(one) else one.report for one in compared]


def _is_open(one: Compared) -> bool:
    """May what differs be in flight? Nothing is on its way to a target that has no position."""
    return bool(one.report.differences) and one.low > 0


def rows_ahead(run: RunContext, one: Compared, shapes: ShapesAhead) -> Iterable[str]:
    """Return the keys of rows that log ahead of the target brings now; all that differ where it may be about any row.

    A row that is missing and that the log changes is not brought by it.

    Raises SourceError or TrailError where the log can't be read.
    """
    with log_ahead(run, one.low, run.source.stable_end()) as ahead:
        judge = _Judge(run, ahead, shapes)
        is_open = shapes.is_changed(one.table, one.low) or judge.is_reloaded(one) or judge.redefined(one)
        found = None if is_open else judge.written(one)
        if found is None:
            return [row.key for row in one.report.unlike]
        missing = {row.key for row in one.report.unlike if row.kind is Kind.MISSING} if one.is_plain else set()
        return [key for key, finds_row in found.items() if not (finds_row and key in missing)]


@dataclass
class _Judge:
    """This object tells what differs from what is in flight, table by table."""

    run: RunContext
    ahead: LogAhead
    shapes: ShapesAhead
    _positions: dict[str, Position] = field(default_factory=dict)

    def report(self, one: Compared) -> TableReport:
        if one.task is None:
            is_new = one.state is None and self.shapes.is_new(one.table, one.low)
            return _on_its_way(one.report) if is_new else one.report
        report = one.report
        if self.shapes.is_changed(one.table, one.low):
            if report.waits:
                return _on_its_way(report)
            rest = tuple(line for line in report.structure if line not in report.behind)
            report = replace(report, structure=rest, on_their_way=(*report.on_their_way, *report.behind))
        return self._with_columns(replace(one, report=self._rows(replace(one, report=report))))

    def _with_columns(self, one: Compared) -> TableReport:
        """Return the report with the columns that differ in the rows that it names."""
        names = tuple(row.key for row in one.report.unlike[: len(one.report.rows)] if _lacks_columns(row))
        if not names or one.task is None:
            return one.report
        (found,) = self.run.runner.map(compare_tables, [[replace(one.task, named=names)]], "compare")
        known = {row.key: row for row in found[0].unlike if row.columns}
        rows = (known.get(row.key, row) for row in one.report.unlike[: len(one.report.rows)])
        return replace(one.report, rows=tuple(row.cut for row in rows))

    def _events(self, one: Compared, *kinds: EventKind) -> bool:
        ahead = (event for event in self.ahead.events() if event.kind in kinds and event.key.lsn >= one.low)
        return any(one.table.id in _tables_of(event) for event in ahead)

    def _rows(self, one: Compared) -> TableReport:
        report = one.report
        if not _rows_of(report):
            return report
        if self._events(one, EventKind.TRUNCATE):
            return replace(_without_rows(report), in_flight=_rows_of(report))
        if self.is_reloaded(one):
            return _undecided(report, LOADING)
        keys, key = self.written(one), set(one.table.key.columns if one.table.key else ())
        is_rekeyed, redefined = bool(self.shapes.retyped(one.table, one.low) & key), self.redefined(one)
        if redefined and (redefined & key or not key):
            return _undecided(report, REWRITTEN)
        is_unsure = bool(redefined and report.different)
        if keys is not None and not keys and not is_rekeyed and not is_unsure:
            return report
        if keys is None or not report.unlike:
            return _undecided(report, UNSHOWN)
        if is_rekeyed:
            return _undecided(report, CHANGING)
        real = [row for row in report.unlike if row.key not in keys or self._is_wrong(one, row, keys[row.key])]
        flying = len(report.unlike) - len(real)
        if report.is_partial and not real:
            return replace(_undecided(report, TOO_MANY), in_flight=flying)
        sure = [row for row in real if row.kind is not Kind.DIFFERENT] if is_unsure else real
        assert one.task is not None
        found = replace(_with_rows(report, sure, one.task.limit), in_flight=flying)
        return replace(found, undecided=REWRITTEN) if len(sure) < len(real) else found

    def redefined(self, one: Compared) -> frozenset[int]:
        """Return the ids of the compared columns whose values a statement ahead of the target changes in all rows."""
        changes = (event for event in self.ahead.events() if event.kind is EventKind.DDL and event.key.lsn >= one.low)
        statements = [event for event in changes if one.table.id in event.rewritten]
        return self.shapes.redefined(one.table, statements) - self.shapes.retyped(one.table, one.low)

    def _is_wrong(self, one: Compared, row: RowDifference, finds_row: bool) -> bool:
        """Is a row in flight wrong besides: the log changes a row that is missing, or inserts one that is there?

        finds_row: does the log's first change of it find a row? Where a target takes not all rows or all values, or has
        moved on meanwhile, nobody can tell.
        """
        if not one.is_plain or self._has_moved(one):
            return False
        return finds_row if row.kind is Kind.MISSING else not finds_row

    def _has_moved(self, one: Compared) -> bool:
        """Has the target applied log since the comparison began?"""
        target = one.report.at
        if target not in self._positions:
            now = self.run.target(target).position()
            self._positions[target] = now.lsn if now is not None else Position(0)
        return self._positions[target] > one.low

    def is_reloaded(self, one: Compared) -> bool:
        """Does the log empty the table, or say that it has to be loaded?"""
        is_due = self._events(one, EventKind.RELATION, EventKind.TRUNCATE)
        return is_due or any(one.table.id in event.filled for event in self.ahead.events())

    def written(self, one: Compared) -> dict[str, bool] | None:
        """Return the keys that the log ahead of the target is about, as `written_keys` does."""
        assert one.task is not None and one.state is not None
        files = self.ahead.files(one.table.id, one.low)
        if not files:
            return {}
        seen = one.state.has if one.state.snapshot is not None else None
        skip = frozenset(lsn for lsn, by in self.ahead.commits(one.low) if seen(lsn, by)) if seen else frozenset()
        low, high = (LogKey(at, START_OF_TRANSACTION) for at in (one.low, self.ahead.high))
        values = source_engine(self.run.channel).values
        return written_keys(WrittenKeys(one.task, self.run.channel.name, tuple(files), low, high, values, skip))


def _tables_of(event: Event) -> set[int]:
    """Return the ids of the tables that an event is about; one that tells of a layout names its table there."""
    layout = {int(event.layout["table_id"])} if event.layout and "table_id" in event.layout else set()
    return {table_id for table_id, _ in event.dropped} | {table.id for table in event.tables} | layout


def _lacks_columns(row: RowDifference) -> bool:
    return row.kind is Kind.DIFFERENT and not row.columns


def _on_its_way(report: TableReport) -> TableReport:
    return replace(report, structure=(), on_their_way=(*report.on_their_way, *report.structure))


def _undecided(report: TableReport, why: str) -> TableReport:
    """Return the report without its rows: nobody can say which of them really differ."""
    return replace(_without_rows(report), undecided=why)


def _without_rows(report: TableReport) -> TableReport:
    return replace(report, missing=0, extra=0, different=0, rows=(), unlike=(), is_partial=False)


def _with_rows(report: TableReport, rows: Sequence[RowDifference], limit: int) -> TableReport:
    count = Counter[Kind]()
    for row in rows:
        count[row.kind] += row.copies
    return replace(
        report,
        missing=count[Kind.MISSING],
        extra=count[Kind.EXTRA],
        different=count[Kind.DIFFERENT],
        rows=tuple(row.cut for row in rows[:limit]),
        unlike=tuple(rows),
    )


def _rows_of(report: TableReport) -> int:
    return report.missing + report.extra + report.different
