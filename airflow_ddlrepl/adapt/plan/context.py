"""A plan takes more into account than two shapes: the source before the change, the channel file, a text to run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_ddlrepl.adapt.plan.ddl_replay import Statement
from airflow_ddlrepl.adapt.plan.settings import SettingsChange
from airflow_ddlrepl.adapt.policy import Policy
from airflow_ddlrepl.hvr.ddl_table import Ddl
from airflow_ddlrepl.model.table import Table


@dataclass(frozen=True, slots=True)
class PlanContext:
    """A context holds what a plan takes into account besides shapes, evidence, policies and target.

    source_before: the source's own shape before the change, if known; it shows what really changed where the target
    holds less or more than the source. needs: as in `Case`; a PostgreSQL source needs none. settings: the channel
    file's settings for the table; None: there is no file. text: the source's statement, if its text runs
    (`replay_ddl`). limit: a condition over the source's columns for the rows that a refresh replaces; empty: all.
    former: the policy of the table's old name, where its new name makes another table of it (`makes_two_of_rename`).
    reload: why the table is loaded again although its shape is as it was; empty: it is not.
    """

    source_before: Table | None = None
    needs: Mapping[Ddl, str] = field(default_factory=dict)
    settings: SettingsChange | None = None
    text: Statement | None = None
    limit: str = ""
    former: Policy | None = None
    reload: str = ""
