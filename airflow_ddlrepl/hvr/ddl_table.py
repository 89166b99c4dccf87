"""This module is HVR's table of DDL statements: what each does at a target, with and without AdaptDDL.

It applies to every source database; how one deviates is in its profile (`hvr/profile.py`).
`docs/tools/hvr/decision.py` applies the policies.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Ddl(StrEnum):
    """This value names a statement of HVR's DDL table; add_partition is named in the table's notes only."""

    CREATE_TABLE = "create_table"
    DROP_TABLE = "drop_table"
    CREATE_THEN_DROP_TABLE = "create_then_drop_table"
    DROP_THEN_CREATE_TABLE = "drop_then_create_table"
    ADD_COLUMN = "add_column"
    ADD_COLUMN_DEFAULT = "add_column_default"
    DROP_COLUMN = "drop_column"
    WIDEN_COLUMN = "widen_column"
    NARROW_COLUMN = "narrow_column"
    CHANGE_TYPE = "change_type"
    CHANGE_ENCRYPTION = "change_encryption"
    RENAME_COLUMN = "rename_column"
    TRUNCATE = "truncate"
    REBUILD_INDEX = "rebuild_index"
    CHANGE_KEY = "change_key"
    ADD_FOREIGN_KEY = "add_foreign_key"
    RENAME_TABLE = "rename_table"
    TRUNCATE_PARTITION = "truncate_partition"
    ADD_PARTITION = "add_partition"
    MERGE_PARTITION = "merge_partition"
    SPLIT_PARTITION = "split_partition"
    EXCHANGE_PARTITION = "exchange_partition"
    MOVE_TABLESPACE = "move_tablespace"
    ALTER_TABLESPACE = "alter_tablespace"
    CREATE_SEQUENCE = "create_sequence"
    DROP_SEQUENCE = "drop_sequence"
    VIEW_OR_SYNONYM = "view_or_synonym"
    TRIGGER = "trigger"
    ROUTINE_OR_ROLE = "routine_or_role"
    REDEFINE_STORAGE = "redefine_storage"
    REDEFINE_THEN_ALTER = "redefine_then_alter"
    REDEFINE_COLUMNS = "redefine_columns"


class Outcome(StrEnum):
    """An outcome is what a statement does at the target; its value is the wording in docs/databases.md."""

    IGNORED = "ignored"
    WARNED = "a warning"
    ENROLLED = "enrolled"
    CREATED = "created"
    ALTERED = "altered"
    ALTERED_AND_REFRESHED = "altered, refreshed"
    REFRESHED = "refreshed"
    APPLIED = "applied as data"
    LEFT = "leaves the channel"
    DROPPED = "dropped"
    STOPPED = "waits for a person"
    UNSEEN = "not seen"
    UNSUPPORTED = "unsupported"
    IMPOSSIBLE = "not possible at the source"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Row:
    """A row is one statement of HVR's DDL table, with its outcomes.

    sql: an example. source: its line in HVR's document. without, adapting: the outcome without AdaptDDL and with HVR's
    defaults, before other policies and the database's notes; of two statements the first. only: names of the profiles
    that have the statement; empty: all.
    """

    sql: str
    source: str
    without: Outcome
    adapting: Outcome
    only: tuple[str, ...] = ()


_IGNORED = (Outcome.IGNORED, Outcome.IGNORED)
_ENROLLED = (Outcome.ENROLLED, Outcome.ENROLLED)
_APPLIED = (Outcome.APPLIED, Outcome.APPLIED)
_ORACLE = ("oracle",)

ROWS = {
    Ddl.CREATE_TABLE: Row("CREATE TABLE", "002:210", Outcome.IGNORED, Outcome.REFRESHED),
    Ddl.DROP_TABLE: Row("DROP TABLE", "002:211", Outcome.WARNED, Outcome.LEFT),
    Ddl.CREATE_THEN_DROP_TABLE: Row("CREATE TABLE, then DROP TABLE", "002:212", Outcome.IGNORED, Outcome.REFRESHED),
    Ddl.DROP_THEN_CREATE_TABLE: Row("DROP TABLE, then CREATE TABLE", "002:213", Outcome.WARNED, Outcome.REFRESHED),
    Ddl.ADD_COLUMN: Row("ADD COLUMN", "002:214", Outcome.IGNORED, Outcome.ALTERED),
    Ddl.ADD_COLUMN_DEFAULT: Row("ADD COLUMN … DEFAULT", "002:216", Outcome.IGNORED, Outcome.ALTERED),
    Ddl.DROP_COLUMN: Row("DROP COLUMN", "002:217", Outcome.ENROLLED, Outcome.ALTERED),
    Ddl.WIDEN_COLUMN: Row("ALTER COLUMN, bigger", "002:219", Outcome.ENROLLED, Outcome.ALTERED),
    Ddl.NARROW_COLUMN: Row("ALTER COLUMN, smaller", "002:220", Outcome.ENROLLED, Outcome.ALTERED_AND_REFRESHED),
    Ddl.CHANGE_TYPE: Row("ALTER COLUMN, other type", "002:221", Outcome.ENROLLED, Outcome.ALTERED_AND_REFRESHED),
    Ddl.CHANGE_ENCRYPTION: Row("ALTER COLUMN, encryption", "002:222", Outcome.REFUSED, Outcome.REFRESHED, _ORACLE),
    Ddl.RENAME_COLUMN: Row("RENAME COLUMN", "002:223", Outcome.ENROLLED, Outcome.ALTERED_AND_REFRESHED),
    Ddl.TRUNCATE: Row("TRUNCATE TABLE", "002:225", *_APPLIED),
    Ddl.REBUILD_INDEX: Row("ALTER INDEX … REBUILD, online", "002:226", *_ENROLLED, ("sqlserver",)),
    Ddl.CHANGE_KEY: Row("PRIMARY KEY, CREATE or DROP INDEX", "002:227", Outcome.IGNORED, Outcome.ALTERED),
    Ddl.ADD_FOREIGN_KEY: Row("ADD FOREIGN KEY", "002:228", *_IGNORED),
    Ddl.RENAME_TABLE: Row("RENAME TO", "002:229", Outcome.WARNED, Outcome.LEFT),
    Ddl.TRUNCATE_PARTITION: Row("TRUNCATE PARTITION", "002:230", Outcome.IGNORED, Outcome.REFRESHED),
    Ddl.ADD_PARTITION: Row("ADD PARTITION", "002:231", *_IGNORED),
    Ddl.MERGE_PARTITION: Row("MERGE PARTITION", "002:231", *_IGNORED),
    Ddl.SPLIT_PARTITION: Row("SPLIT PARTITION", "002:232", *_IGNORED),
    Ddl.EXCHANGE_PARTITION: Row("EXCHANGE PARTITION", "002:233", Outcome.IGNORED, Outcome.REFRESHED),
    Ddl.MOVE_TABLESPACE: Row("MOVE TABLESPACE", "002:234", *_IGNORED),
    Ddl.ALTER_TABLESPACE: Row("ALTER TABLESPACE", "002:235", *_IGNORED),
    Ddl.CREATE_SEQUENCE: Row("CREATE SEQUENCE", "002:236", *_IGNORED),
    Ddl.DROP_SEQUENCE: Row("DROP SEQUENCE", "002:237", *_IGNORED),
    Ddl.VIEW_OR_SYNONYM: Row("CREATE, DROP VIEW, SYNONYM", "002:238", *_IGNORED),
    Ddl.TRIGGER: Row("CREATE, DROP TRIGGER", "002:239", *_IGNORED),
    Ddl.ROUTINE_OR_ROLE: Row("PROCEDURE, FUNCTION, USER, ROLE, DIRECTORY", "002:240", *_IGNORED),
    Ddl.REDEFINE_STORAGE: Row("dbms_redefinition, storage", "002:241", *_ENROLLED, _ORACLE),
    Ddl.REDEFINE_THEN_ALTER: Row("dbms_redefinition, storage, then ALTER", "002:242", *_ENROLLED, _ORACLE),
    Ddl.REDEFINE_COLUMNS: Row(
        "dbms_redefinition, columns", "002:243", Outcome.ENROLLED, Outcome.ALTERED_AND_REFRESHED, _ORACLE
    ),
}
