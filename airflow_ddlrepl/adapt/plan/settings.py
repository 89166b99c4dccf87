"""What the channel file says of a table at a target, before a change and now."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_ddlrepl.model.change import EventKind


@dataclass(frozen=True, slots=True)
class Reads:
    """What of the source's shape a table's row condition and its value function look at.

    condition: the columns of the condition that holds now, with their types; None: the shape is not known.
    function: name, version, what it gives and what it looks at; empty: no function gives values.
    """

    condition: tuple[object, ...] | None = ()
    function: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """What the channel file says of a table at a target: when the table got its present shape, and now.

    kind: what brings the table's change: a statement, or the file itself (PROPERTIES). before, now: the file's
    settings as `Channel.properties_at` gives them; before is None for a table that the target does not have. has_rows:
    rows stand there that the former settings have chosen. is_live: these are in step with the source.
    """

    kind: EventKind
    before: str | None
    now: str
    has_rows: bool = False
    is_live: bool = False
    reads_before: Reads = Reads()
    reads_now: Reads = Reads()
