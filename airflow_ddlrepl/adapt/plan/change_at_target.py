"""A plan follows from one value: two shapes of a table, what is known of the change, of the target, and of the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_ddlrepl.adapt.plan.ddl_replay import Statement
from airflow_ddlrepl.adapt.plan.settings import SettingsChange
from airflow_ddlrepl.adapt.policy import Policy
from airflow_ddlrepl.adapt.target_facts import Renderer, TargetFacts
from airflow_ddlrepl.ddl.sql.statement import NOTHING_KNOWN, Evidence
from airflow_ddlrepl.hvr.ddl_table import Ddl
from airflow_ddlrepl.model.table import Table


@dataclass(frozen=True, slots=True)
class ChangeAtTarget:
    """A change at a target is what has become of a source's table there: all that the target's plan follows from."""

    old: Table | None
    """The present shape of the target's table (a former plan's `shape`); None: it isn't there."""
    new: Table | None
    """The shape of the source's table now; None: it was dropped."""
    render: Renderer
    facts: TargetFacts
    evidence: Evidence = NOTHING_KNOWN
    policy: Policy = field(default_factory=Policy)
    source_before: Table | None = None
    """The source's own shape before the change, if known: what really changed where the target holds less or more."""
    needs: Mapping[Ddl, str] = field(default_factory=dict)
    """As in `Case`."""
    settings: SettingsChange | None = None
    """The channel file's settings for the table; None: there is no file."""
    text: Statement | None = None
    """The source's statement, if its text runs (`replay_ddl`)."""
    limit: str = ""
    """A condition over the source's columns for the rows that a refresh replaces; empty: all."""
    former: Policy | None = None
    """The policy of the table's old name, where its new name makes another table of it (`makes_two_of_rename`)."""
    reload: str = ""
    """Why the table is loaded again although its shape is as it was; empty: it is not."""
