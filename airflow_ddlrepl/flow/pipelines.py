"""A channel's changes come to its targets by one of two pipelines: its targets integrate, or it has clients of Streams.

Nobody else asks which of them a channel has. Like the table of stages this one imports none of the functions that it
names: they import it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.flow.stages import ADAPT, APPLY, CAPTURE, INTEGRATE, PROPAGATE, REFRESH, SYNC_CAPTURE, Stage, found


@dataclass(frozen=True, eq=False)
class Pipeline:
    """A pipeline is what differs between channels whose targets integrate rows, and channels with clients of Streams.

    A place is where a function is: `module:name` below `airflow_ddlrepl.flow`; empty: there is nothing to do.
    """

    cycle: tuple[Stage, ...]
    """The stages of one cycle, in their order."""
    cycle_place: str
    """What runs one cycle, up to a position or everything that was committed before."""
    bring_place: str
    """What an activation ends with: changes are captured from now on, and the targets get the tables that they lack."""
    require_place: str = ""
    """What raises where an activation can't begin."""
    deactivate_place: str = ""
    """What removes that which only this pipeline makes at a source."""
    loads_what_is_lost: bool = True
    """What is missing in the log comes by loads, so an activation may begin a new epoch of the log."""

    def run_cycle(self, run: Any, until: Any) -> Any:
        """Run one cycle, and return its result, which prints itself."""
        return found(self.cycle_place)(run, until)

    def require_activable(self, run: Any) -> None:
        """Raise what is wrong with the channel's clients, or with the tables that they take."""
        _do(self.require_place, run)

    def bring_tables(self, run: Any, *, load: bool) -> dict[str, int]:
        """Let changes be captured from now on, and bring tables to the targets; return the rows of each."""
        rows: dict[str, int] = found(self.bring_place)(run, load=load)
        return rows

    def deactivate(self, run: Any) -> None:
        """Remove what only this pipeline has made at the source."""
        _do(self.deactivate_place, run)


def _do(place: str, run: Any) -> None:
    if place:
        found(place)(run)


INTEGRATING = Pipeline(
    (CAPTURE, ADAPT, REFRESH, INTEGRATE),
    cycle_place="cycle.run_stages:run_stages",
    bring_place="admin.activate:load_tables",
)
"""The targets of the section `targets` integrate what is captured."""

OF_CLIENTS = Pipeline(
    (CAPTURE, SYNC_CAPTURE, PROPAGATE, APPLY),
    cycle_place="cycle.run_clients:run_clients",
    bring_place="admin.activate_clients:bring_tables",
    require_place="admin.activate_clients:require_clients",
    deactivate_place="admin.activate_clients:remove_triggers",
    loads_what_is_lost=False,
)
"""Captures, propagations and apply processes of the section `streams` pass messages on by their rules."""


def pipeline_of(channel: Channel) -> Pipeline:
    """Return the pipeline of a channel."""
    return INTEGRATING if channel.streams is None else OF_CLIENTS


def require_targets(channel: Channel, what: str, instead: str = Stage.instead) -> None:
    """Raise ConfigError CFG-191 for what a channel with clients of Streams does not have. instead: what it has."""
    if pipeline_of(channel) is OF_CLIENTS:
        raise ConfigError(
            f"{what} is not for channel {channel.name}: its section streams has clients in place of `targets`",
            code="CFG-191",
            hint=instead,
        )


def require_stage(channel: Channel, stage: Stage) -> None:
    """Raise ConfigError CFG-191 or CFG-190 for a stage of the other pipeline."""
    if stage.of_targets:
        require_targets(channel, stage.name, stage.instead)
    if stage.of_clients and pipeline_of(channel) is INTEGRATING:
        raise ConfigError(
            f"{stage.name} is not for channel {channel.name}: it has no section streams",
            code="CFG-190",
            hint="docs/streams.md shows one",
        )
