"""A plan compares the channel file's settings for a table at a target: those before a change with those now."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_ddlrepl.model.change import EventKind
from airflow_ddlrepl.model.settings.table_settings import TableSettings


@dataclass(frozen=True, slots=True)
class Reads:
    """These are the parts of the source's shape that a table's row condition and its value function look at.

    condition: the columns of the condition that holds now, with their types; None: the shape is not known.
    function: name, version, what it gives and what it looks at; empty: no function gives values.
    """

    condition: tuple[object, ...] | None = ()
    function: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """A settings change compares the channel file's settings for a table at a target: at its present shape, and now."""

    kind: EventKind
    """What brings the table's change: a statement, or the file itself (PROPERTIES)."""
    before: TableSettings | None
    """The file's settings when the table got its present shape; None for a table that the target does not have."""
    now: TableSettings
    """The file's present settings."""
    has_rows: bool = False
    """Has the target's table rows that the former settings have chosen?"""
    is_live: bool = False
    """Is it in step with the source?"""
    reads_before: Reads = Reads()
    reads_now: Reads = Reads()
    rewritten: tuple[str, ...] = ()
    """The columns with types of the target's own whose values a statement changed."""
    unfit: frozenset[int] = frozenset()
    """Ids of the columns that can't hold each value of the source's before the change.

    They are looked for where such values are, or were, replaced.
    """
