"""What happened at a source, of whatever database system: a statement, and the table's shapes around it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from airflow_ddlrepl.adapt.ddl_rows import row_of
from airflow_ddlrepl.ddl.diff import diff
from airflow_ddlrepl.ddl.sql.statement import Evidence
from airflow_ddlrepl.engines.postgres.types.casts import INT4, VARCHAR
from airflow_ddlrepl.engines.postgres.types.type_system import POSTGRES_TYPES
from airflow_ddlrepl.hvr.ddl_table import Ddl
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Key, Table
from airflow_ddlrepl.model.types import DataType

# Nothing but what the statement says: no USING clause, no row written anew.
PLAIN = Evidence(has_using=False, rewritten=False)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """before, after: the shapes around it, None where there is no table. statement: what the shapes don't tell.

    is_same_creation: the catalog says of both tables that they were made at the same moment. joins: does a new table,
    or a new name, belong to the channel? in_transaction, partitioning: as `FACTS` in `hvr/profile.py` has them.
    """

    before: Table | None = None
    after: Table | None = None
    statement: Ddl | None = None
    evidence: Evidence = PLAIN
    is_same_creation: bool = False
    joins: bool = True
    in_transaction: str = "alone"
    partitioning: str = "other"

    @property
    def told(self) -> Ddl | None:
        """What is not found by comparing columns. None: that is all there is.

        Another table under the name is one that was dropped and created again, unless it is as old as the former:
        then Oracle's dbms_redefinition has put it in the place of that.
        """
        if self.statement is not None or self.before is None or self.after is None or self.before.id == self.after.id:
            return self.statement
        if not self.is_same_creation:
            return Ddl.DROP_THEN_CREATE_TABLE
        return Ddl.REDEFINE_THEN_ALTER if self.spotted else Ddl.REDEFINE_STORAGE

    @property
    def rows(self) -> tuple[Ddl, ...]:
        """Its rows of the table of DDL statements."""
        told = self.told
        return self.spotted if told is None else (told,)

    @property
    def spotted(self) -> tuple[Ddl, ...]:
        """The rows that the shapes tell."""
        if self.before is None and self.after is None:
            return ()
        found = (row_of(change) for change in diff(self.before, self.same, POSTGRES_TYPES))
        return tuple(dict.fromkeys(row for row in found if row is not None))

    @property
    def same(self) -> Table | None:
        """The shape afterwards, of the table that it was before where that was redefined."""
        if self.before is None or self.after is None or not self.is_same_creation:
            return self.after
        return self.after.with_(id=self.before.id)

    @property
    def facts(self) -> dict[str, str]:
        """What notes of a profile may depend on."""
        key = self.before.key if self.before else None
        said = "none" if key is None else "primary" if key.is_primary else "unique"
        return {"key": said, "in_transaction": self.in_transaction, "partitioning": self.partitioning}


_INT = DataType("integer", "pg_catalog", "int4", id=INT4)
_NARROW = DataType("character varying(5)", "pg_catalog", "varchar", id=VARCHAR, modifier=9)
_WIDE = DataType("character varying(12)", "pg_catalog", "varchar", id=VARCHAR, modifier=16)
ORDERS = Table(
    1,
    TableName("public", "orders"),
    (Column(1, "id", _INT, nullable=False), Column(2, "short", _NARROW, nullable=False), Column(3, "long", _WIDE)),
    key=Key((1,), "orders_pkey", True),
)


def example(statement: Ddl, of: Table = ORDERS) -> Occurrence:
    """The statement run on a small table."""
    number, short, long = of.columns
    added = Column(4, "added", _INT)
    after = {
        Ddl.ADD_COLUMN: (number, short, long, added),
        Ddl.ADD_COLUMN_DEFAULT: (number, short, long, replace(added, nullable=False, default="7", missing="7")),
        Ddl.DROP_COLUMN: (number, short),
        Ddl.WIDEN_COLUMN: (number, replace(short, type=_WIDE), long),
        Ddl.NARROW_COLUMN: (number, short, replace(long, type=_NARROW)),
        Ddl.CHANGE_TYPE: (number, short, replace(long, type=_INT)),
        Ddl.RENAME_COLUMN: (number, short, replace(long, name="renamed")),
    }
    altered = after.get(_ALTERS.get(statement, statement))
    if altered is not None:
        rewritten = Ddl.CHANGE_TYPE in (statement, _ALTERS.get(statement)) or statement is Ddl.NARROW_COLUMN
        changed = Occurrence(of, of.with_(columns=altered), None, replace(PLAIN, rewritten=rewritten))
        return changed if statement not in _ALTERS else _redefined(changed, statement)
    match statement:
        case Ddl.CREATE_TABLE:
            return Occurrence(None, of)
        case Ddl.DROP_TABLE:
            return Occurrence(of, None)
        case Ddl.CREATE_THEN_DROP_TABLE:
            return Occurrence(None, of, statement)
        case Ddl.DROP_THEN_CREATE_TABLE:
            return Occurrence(of, of.with_(id=2))
        case Ddl.REDEFINE_STORAGE:
            return _redefined(Occurrence(of, of), None)
        case Ddl.RENAME_TABLE:
            return Occurrence(of, of.with_(name=TableName("public", "renamed")))
        case Ddl.CHANGE_KEY:
            return Occurrence(of, of.with_(key=Key((1, 2), "orders_pkey", True)))
        case _:
            return Occurrence(of, of, statement)


# what changes the shape in the same way
_ALTERS = {Ddl.REDEFINE_THEN_ALTER: Ddl.CHANGE_TYPE, Ddl.REDEFINE_COLUMNS: Ddl.CHANGE_TYPE}


def _redefined(what: Occurrence, statement: Ddl | None) -> Occurrence:
    """A new table as old as the former. That it was the redefinition which changed the columns must be told."""
    assert what.after is not None
    told = statement if statement is Ddl.REDEFINE_COLUMNS else None
    return replace(what, after=what.after.with_(id=2), is_same_creation=True, statement=told)
