"""This module defines what is made on a table besides its columns: foreign keys, checks, indexes, triggers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from airflow_ddlrepl.model.names import TableName


class ObjectKind(StrEnum):
    """A kind of object that is made on a table. UNIQUE: a primary key, a unique constraint, or a unique index."""

    FOREIGN_KEY = "foreign key"
    CHECK = "check"
    EXCLUSION = "exclusion constraint"
    UNIQUE = "unique key"
    INDEX = "index"
    TRIGGER = "trigger"


@dataclass(frozen=True, slots=True)
class TableObject:
    """A table object is made on a table of a database.

    columns: of a key or an index, in its order; "" for an expression. rule: the rest that makes it what it is:
    expressions, a predicate, what a foreign key does on a delete. referenced: of a foreign key, the table and its
    columns. statement: what creates it. is_in_force: all rows are held to it; of a trigger: it fires for applications.
    """

    kind: ObjectKind
    table: TableName
    name: str
    statement: str
    columns: tuple[str, ...] = ()
    rule: str = ""
    referenced: tuple[TableName, tuple[str, ...]] | None = None
    is_in_force: bool = True
