"""Maintenance: the files of targets' tables are compacted, and those that nobody needs any more are removed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field

from pydantic import PositiveInt, TypeAdapter

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.location import resolve
from airflow_ddlrepl.engines import of_targets
from airflow_ddlrepl.engines.abilities.maintenance import NeedsMaintenance, Thresholds
from airflow_ddlrepl.engines.ability import able, find
from airflow_ddlrepl.errors import ConfigError, TargetError
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.fencing import claim
from airflow_ddlrepl.flow.run.results import Printable
from airflow_ddlrepl.flow.run.stage import stage
from airflow_ddlrepl.flow.stages import MAINTAIN
from airflow_ddlrepl.flow.targets.readiness import is_ready
from airflow_ddlrepl.model.table_state import TableStatus
from airflow_ddlrepl.notation.name_pattern import is_selected
from airflow_ddlrepl.notation.section import Seconds


@dataclass(frozen=True)
class Maintenance(Printable):
    """This is what maintenance did: by table, what was rewritten and removed. left: tables that it could not change."""

    tables: dict[str, dict[str, int]] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


@stage(MAINTAIN)
def maintain(run: RunContext, thresholds: Thresholds, patterns: Sequence[str] = ()) -> Maintenance:
    """Maintain the tables that the patterns select, at every target that needs it; without patterns all.

    It has the channel's lock, so no window of the channel is open meanwhile. What a rewind may go back to stays. Raises
    Unsupported ADP-195 where no target needs it.
    """
    started = time.monotonic()
    done: dict[str, dict[str, int]] = {}
    left: dict[str, str] = {}
    needing = maintained_targets(run.channel)
    if not needing:
        able(of_targets(resolve(run.channel.targets[0].location)), NeedsMaintenance)
    for target in run.targets.answering():
        if target.name not in needing or not is_ready(run, target.name):
            continue
        claim(run, target.name)
        place, engine = run.target(target.name), needing[target.name]
        for state in place.state().table_states.values():
            if state.state is TableStatus.NEW or not is_selected(state.name, patterns):
                continue
            what = f"{target.name} {state.name}"
            try:
                found = asdict(engine.maintain(place, state.name, thresholds, run.fence))
            except TargetError as error:
                log.warning("%s is left as it is: %s", what, error.message)
                left[what] = f"{error.code} {error.message}"
                continue
            if any(found.values()):
                done[what] = found
    return Maintenance(done, left, round(time.monotonic() - started, 2))


def maintained_targets(channel: Channel) -> dict[str, NeedsMaintenance]:
    """Return the engines of the targets that need maintenance, by target; one that is not known here is left out."""
    found = {}
    for target in channel.targets:
        with suppress(ConfigError):
            if (engine := find(of_targets(resolve(target.location)), NeedsMaintenance)) is not None:
                found[target.name] = engine
    return found


def thresholds_for(channel: Channel, retain: str, small_files: str, deleted_percent: str) -> Thresholds:
    """Return the thresholds of a run. Raises ConfigError CFG-139 for a text that is no age, or no number.

    As long as a rewind may go back, snapshots stay.
    """
    horizon = channel.rewind_horizon.age if channel.rewind_horizon and channel.rewind_horizon.age else 0
    try:
        age = TypeAdapter(Seconds).validate_python(retain)
        files, percent = (TypeAdapter(PositiveInt).validate_python(text) for text in (small_files, deleted_percent))
        return Thresholds(max(age, horizon), files, percent)
    except ValueError:
        raise ConfigError(
            f"a threshold of maintenance can't be read: {retain}, {small_files}, {deleted_percent}",
            code="CFG-139",
            hint="the age is like 5d or 12h, and the other two are whole numbers from 1 on",
        ) from None
