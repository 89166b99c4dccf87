"""This module warns of settings in a valid channel file that have no effect, or let source and target differ."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_ddlrepl.config.sections.adapt_actions import AdaptAction
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.places import Target, is_further
from airflow_ddlrepl.config.sections.policies import Defaults, OnEnrollBreak, OnPreserveAlterTableFail
from airflow_ddlrepl.goldengate.parameters.clauses import MAPPED
from airflow_ddlrepl.goldengate.parameters.replicat import ErrorAction
from airflow_ddlrepl.hvr.version import ISOLATED_SINCE, SINCE, is_older
from airflow_ddlrepl.notation.refresh_options import read_options

SOURCE_ONLY = (
    "add_table_pattern",
    "ignore_table_pattern",
    "capture_schema",
    "integrate_schema",
    "on_drop_table",
)
TARGET_ONLY = (
    "on_enroll_break",
    "on_add_column_with_default",
    "on_preserve_alter_table_fail",
    "refresh_options",
    "keep_existing_structure",
    "keep_old_rows",
)


def warnings(channel: Channel) -> list[str]:
    """Return one sentence per setting without effect or with a loss; empty when there is none."""
    found = (*_sides(channel), *_actions(channel), *_schemas(channel), *_rules(channel), *_rewinds(channel))
    return [*found, *_truncates(channel), *_extract(channel), *_replicats(channel), *_versions(channel)]


def _sides(channel: Channel) -> Iterator[str]:
    for number, action in enumerate(channel.source.adapt_ddl):
        for key in _set(action, TARGET_ONLY):
            yield f"source.adapt_ddl[{number}].{key} does nothing at the source: move it to adapt_ddl or to a target"
    for where, target in _places(channel):
        for number, action in enumerate(target.adapt_ddl):
            for key in _set(action, SOURCE_ONLY):
                yield (
                    f"{where}.adapt_ddl[{number}].{key} does nothing at a target: "
                    "move it to adapt_ddl or to source.adapt_ddl"
                )


def _actions(channel: Channel) -> Iterator[str]:
    for where, action in _placed(channel):
        yield from (f"{where}: {text}" for text in _action(action))
    if any(target.adapt_ddl for target in channel.targets) and not channel.source_actions():
        yield "only targets have adapt_ddl: no new table joins, and `defaults` decide about tables that are dropped"
    if channel.source.adapt_ddl and not any(channel.at(target.name).actions for target in channel.targets):
        yield "only the source has adapt_ddl: `defaults` decide what becomes of the targets' tables"


def _action(action: AdaptAction) -> Iterator[str]:
    if action.add_table_pattern is None:
        for key in _set(action, ("ignore_table_pattern", "capture_schema", "integrate_schema")):
            yield f"{key} does nothing without add_table_pattern in the same action"
    elif action.table != "*":
        yield "add_table_pattern belongs into an action for all tables: take `table` out"
    if action.on_enroll_break is OnEnrollBreak.WARNING:
        yield "on_enroll_break: WARNING lets source and target differ after such a change"
    if action.on_preserve_alter_table_fail is OnPreserveAlterTableFail.WARNING:
        yield "on_preserve_alter_table_fail: WARNING leaves the target's table as it was when an ALTER fails"
    if action.refresh_options and read_options(action.refresh_options).mask:
        yield "refresh_options: a mask lets source and target differ; integrate stops at a later change of such a row"


def _schemas(channel: Channel) -> Iterator[str]:
    for where, target in _places(channel):
        places = [target.schemas.get(schema, schema) for schema in target.schemas]
        for place in sorted({p for p in places if places.count(p) > 1}):
            yield f"{where}.schemas: several schemas go to {place}; equal table names there are refused"


def _rules(channel: Channel) -> Iterator[str]:
    for where, target in _places(channel):
        if target.rules.positive == ():
            yield f"{where}.rules.positive is empty: no change is taken; leave it out to take every change"


def _rewinds(channel: Channel) -> Iterator[str]:
    if channel.replays and channel.rewind_horizon is None:
        yield "replays do nothing without rewind_horizon: the trail keeps no rows that a rewind could begin with"


def _truncates(channel: Channel) -> Iterator[str]:
    if channel.capture.no_truncate:
        yield (
            "capture.no_truncate lets source and target differ after a TRUNCATE; integrate stops where a row comes"
            " again under a key that the target still has"
        )
    if channel.capture.ignore_sessions:
        yield "capture.ignore_sessions lets source and target differ; integrate stops at a later change of such a row"


def _extract(channel: Channel) -> Iterator[str]:
    extract = channel.source.extract
    if extract is None:
        return
    yield "source.extract lets source and target differ where it discards a schema change"
    if extract.ddl is None:
        yield "source.extract has no `ddl`: no schema change is captured; `ddl: {}` captures all"
    elif not extract.tables and any(one.scope is MAPPED for one in (*extract.ddl.include, *extract.ddl.exclude)):
        yield "source.extract lists no `tables`: no statement is MAPPED, and no clause with that scope is ever true"
    if len(set(extract.remove_comments)) > 1:
        yield "source.extract.remove_comments: `after` is redundant, `before` removes all comments"
    runs_text = channel.replay_ddl or any(place.replicat is not None for _, place in _places(channel))
    if extract.substitutions and not runs_text:
        yield "source.extract.substitutions do nothing without replay_ddl: no target runs the source's text"


def _replicats(channel: Channel) -> Iterator[str]:
    for where, target in _places(channel):
        replicat = target.replicat
        if replicat is None:
            continue
        leaves_out = any(rule.action is not ErrorAction.ABEND for rule in replicat.errors)
        if leaves_out or (replicat.ddl is not None and (replicat.ddl.include or replicat.ddl.exclude)):
            yield f"{where}.replicat lets source and target differ where it leaves a statement out"
        if len(set(replicat.remove_comments)) > 1:
            yield f"{where}.replicat.remove_comments: `after` is redundant, `before` removes all comments"
        if any(_set(action, TARGET_ONLY) for action in channel.adapt_ddl):
            yield f"{where}.replicat: the policies of adapt_ddl do nothing there: the source's statements run"
        clauses = replicat.ddl.include if replicat.ddl is not None else ()
        if not clauses or any(one.objtype is None for one in clauses):
            yield (
                f"{where}.replicat: statements about no table run there, too, such as COMMENT and CREATE SEQUENCE, and"
                " of kinds that `code` names; include clauses with `objtype` say which"
            )
        for number, one in enumerate(replicat.maps):
            if one.fills_in_whole_names:
                yield (
                    f"{where}.replicat.maps[{number}]: * in TARGET {one.target} is the whole name at the source,"
                    f" not what the wildcards of MAP {one.source} match: {one.example}"
                )


def _versions(channel: Channel) -> Iterator[str]:
    """Yield a warning for each parameter that the HVR of the file's version does not have."""
    version = channel.hvr_version
    if version is None:
        return
    if channel.defaults is not Defaults.HVR:
        yield "hvr_version does nothing without `defaults: hvr`"
        return
    for where, action in _placed(channel):
        used = [(key, SINCE[key]) for key in _set(action, tuple(SINCE))]
        if action.refresh_options and read_options(action.refresh_options).isolates:
            used.append(("-inow in refresh_options", ISOLATED_SINCE))
        for key, since in used:
            if is_older(version, since):
                yield f"{where}: HVR {version} has no {key}, it came with {since}; here it acts all the same"


def _placed(channel: Channel) -> Iterator[tuple[str, AdaptAction]]:
    """Yield the actions with their places in the file, such as `source.adapt_ddl[0]`."""
    lists = [("adapt_ddl", channel.adapt_ddl), ("source.adapt_ddl", channel.source.adapt_ddl)]
    lists += [(f"{where}.adapt_ddl", target.adapt_ddl) for where, target in _places(channel)]
    yield from ((f"{where}[{number}]", action) for where, actions in lists for number, action in enumerate(actions))


def _places(channel: Channel) -> Iterator[tuple[str, Target]]:
    """Return targets and replays with their places in the file, such as `targets[0]`."""
    targets = (target for target in channel.targets if not is_further(target.name))
    yield from ((f"targets[{number}]", target) for number, target in enumerate(targets))
    yield from ((f"replays[{number}]", replay) for number, replay in enumerate(channel.replays))


def _set(action: AdaptAction, keys: tuple[str, ...]) -> list[str]:
    return [key for key in keys if getattr(action, key) is not None]
