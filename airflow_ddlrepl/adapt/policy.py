"""A policy says what a schema change does to one table at one target; the channel file's actions decide it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from airflow_ddlrepl.config.sections.adapt_actions import AdaptAction
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.channel_at import ChannelAt
from airflow_ddlrepl.config.sections.policies import (
    AskBefore,
    Defaults,
    OnAddColumnWithDefault,
    OnDropTable,
    OnEnrollBreak,
    OnPreserveAlterTableFail,
)
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.notation.refresh_options import BULK, Difference, Granularity, RefreshOptions, read_options
from airflow_ddlrepl.scope.client import client_at
from airflow_ddlrepl.scope.decide import ChangeKind, Reason, decide

ASKED = "ask_before: "
"""So begins what a breakpoint names as its policy where the channel's `ask_before` lists the change."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy says what happens to one table at one target. By our own defaults the target equals the source.

    defaults: HVR also refreshes after a rename, a narrowing and a change of a table without key, and leaves column
    defaults to the target. adapts: the target's table follows the source's; with HVR's defaults it does where both
    sides have an action for it, and where the target's rules don't discard the change (discarded: why they do).
    refresh: how a refresh that a schema change implies is done. replays: the text of the source's statement runs
    (`replay_ddl`), there are no other policies then. is_elsewhere: the target is for further TARGETs of tables, and
    this table has none. takes_rows: the target takes changes of the table's rows. asks: before which changes a person
    is asked.
    """

    on_enroll_break: OnEnrollBreak = OnEnrollBreak.REFRESH
    on_add_column_with_default: OnAddColumnWithDefault = OnAddColumnWithDefault.FILL
    on_preserve_alter_table_fail: OnPreserveAlterTableFail = OnPreserveAlterTableFail.REFRESH
    on_drop_table: OnDropTable = OnDropTable.DROP_FROM_CHANNEL_ONLY
    keep_existing_structure: bool = False
    defaults: Defaults = Defaults.OWN
    adapts: bool = True
    discarded: str = ""
    refresh: RefreshOptions = BULK
    replays: bool = False
    is_elsewhere: bool = False
    takes_rows: bool = True
    asks: frozenset[AskBefore] = frozenset()

    @property
    def is_hvr(self) -> bool:
        """Do HVR's defaults apply?"""
        return self.defaults is Defaults.HVR

    @property
    def keeps_old_rows(self) -> bool:
        """Does a refresh leave rows at the target that the source does not have?"""
        return Difference.DELETE in self.refresh.mask

    def after_approval(self) -> Policy:
        """Return the policy that applies once a person has removed a breakpoint: go on, warn, refresh nothing."""
        enroll, add, fail = self.on_enroll_break, self.on_add_column_with_default, self.on_preserve_alter_table_fail
        return replace(
            self,
            asks=frozenset(),
            on_enroll_break=OnEnrollBreak.WARNING if enroll is OnEnrollBreak.FAIL_INTEG_JOB else enroll,
            on_add_column_with_default=(
                OnAddColumnWithDefault.WARNING if add is OnAddColumnWithDefault.FAIL_INTEG_JOB else add
            ),
            on_preserve_alter_table_fail=(
                OnPreserveAlterTableFail.WARNING if fail is OnPreserveAlterTableFail.FAIL_INTEG_JOB else fail
            ),
        )


REPLAYED = Policy(on_drop_table=OnDropTable.DROP_FROM_CHANNEL_AND_TARGET, replays=True)
"""The policy of the tables in `replay_ddl`, and at a target with `replicat` of those that are as at the source."""


def policy_at(at: ChannelAt, name: TableName, before: TableName | None = None, ignored: str = "") -> Policy:
    """Return the policy of a table (named as at the source) at one target or replay; the channel's rules come first.

    before: the table's name before the statement that changes it; rules and `replay_ddl` go by that. ignored: why no
    target gets what this statement did.
    """
    policy = policy_for(name, at.actions, at.channel.source_actions(), at.channel.defaults)
    if at.settings(before or name).columns.time_key:
        policy = replace(policy, keep_existing_structure=True)
    if at.replays(before or name):
        policy = REPLAYED
    elif at.place.replicat is not None:
        policy = replace(policy, on_drop_table=REPLAYED.on_drop_table)
    if at.channel.ask_before and not at.is_replay:
        policy = replace(policy, asks=frozenset(at.channel.ask_before))
    client = client_at(at)
    decided = decide(client, before or name, ChangeKind.DDL)
    if before != name and (decided.is_elsewhere or decided.reason is Reason.NOT_MAPPED):  # it joins by its new name
        decided = decide(client, name, ChangeKind.DDL)
    why = ignored or decided.why
    if policy.adapts and not why:
        return policy
    takes_rows = decide(client, name, ChangeKind.DML).is_taken
    if not why:
        return replace(policy, takes_rows=takes_rows)
    return replace(policy, adapts=False, discarded=why, is_elsewhere=decided.is_elsewhere, takes_rows=takes_rows)


def makes_two_of_rename(channel: Channel, before: Table, after: Table) -> bool:
    """Is a table's new name a drop of the table and a new one of the other name, as with HVR's defaults?

    before, after: the source's shapes. Partitioned tables and partitions are renamed: nothing else has their rows.
    """
    if channel.defaults is not Defaults.HVR or before.name == after.name or channel.replays_text(before.name):
        return False
    is_in_tree = any(table.is_partitioned or table.partition is not None for table in (before, after))
    return not is_in_tree and any(action.is_for(before.name) for action in channel.source_actions())


def policy_for(
    name: TableName,
    target_actions: Sequence[AdaptAction],
    source_actions: Sequence[AdaptAction] = (),
    defaults: Defaults = Defaults.OWN,
) -> Policy:
    """Return the policy of a table (named as at the source) at one target; the first action with a setting decides it.

    target_actions, source_actions: `Channel.at(name).actions`, `Channel.source_actions()`; on_drop_table
    is read at the source first, then at the target, the others at the target.
    """
    hvr = defaults is Defaults.HVR
    empty, fill = OnAddColumnWithDefault.ADD_COLUMN_WITH_EMPTY_DEFAULT, OnAddColumnWithDefault.FILL
    refresh, select = OnPreserveAlterTableFail.REFRESH, OnPreserveAlterTableFail.CREATE_AS_SELECT
    at_source = (*source_actions, *target_actions)
    return Policy(
        _first(target_actions, name, "on_enroll_break", OnEnrollBreak.REFRESH),
        _first(target_actions, name, "on_add_column_with_default", empty if hvr else fill),
        _first(target_actions, name, "on_preserve_alter_table_fail", select if hvr else refresh),
        _first(at_source, name, "on_drop_table", OnDropTable.DROP_FROM_CHANNEL_ONLY),
        _first(target_actions, name, "keep_existing_structure", False),
        defaults,
        not hvr or all(any(a.is_for(name) for a in actions) for actions in (source_actions, target_actions)),
        refresh=_refresh(target_actions, name),
    )


def _refresh(actions: Sequence[AdaptAction], name: TableName) -> RefreshOptions:
    options = read_options(_first(actions, name, "refresh_options", ""))
    if not _first(actions, name, "keep_old_rows", False):
        return options
    return replace(options, granularity=Granularity.ROW, mask=options.mask | {Difference.DELETE})


def _first(actions: Iterable[AdaptAction], name: TableName, parameter: str, default: Any) -> Any:
    values = (getattr(action, parameter) for action in actions if action.is_for(name))
    return next((value for value in values if value is not None), default)


_STOPS = {
    OnEnrollBreak.FAIL_INTEG_JOB,
    OnAddColumnWithDefault.FAIL_INTEG_JOB,
    OnPreserveAlterTableFail.FAIL_INTEG_JOB,
}


def can_stop(channel: Channel) -> bool:
    """Does any policy of the channel let a target wait for a person (a control)?"""
    if channel.ask_before:
        return True
    actions = (action for place in channel.targets_and_replays for action in channel.at(place.name).actions)
    chosen = ((a.on_enroll_break, a.on_add_column_with_default, a.on_preserve_alter_table_fail) for a in actions)
    return any(policy in _STOPS for policies in chosen for policy in policies)


def isolates(channel: Channel) -> bool:
    """Does an action isolate the tables that a schema change lets wait for a refresh?"""
    actions = [*channel.adapt_ddl, *(action for target in channel.targets for action in target.adapt_ddl)]
    return any(read_options(action.refresh_options or "").isolates for action in actions)
