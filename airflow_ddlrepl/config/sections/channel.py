"""This module defines the channel: its source, its targets, and what happens when a table's shape changes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from airflow_ddlrepl.config.sections import mapped_rows
from airflow_ddlrepl.config.sections.adapt_actions import Action, AdaptAction, AsksBefore
from airflow_ddlrepl.config.sections.channel_at import ChannelAt
from airflow_ddlrepl.config.sections.db_sequences import DbSequence
from airflow_ddlrepl.config.sections.ddl_replay import ReplayEntry, require_no_overlap
from airflow_ddlrepl.config.sections.location import default_repository, default_trail, redact
from airflow_ddlrepl.config.sections.places import (
    Place,
    Source,
    Target,
    Targets,
    is_further,
    named_in_file,
)
from airflow_ddlrepl.config.sections.policies import (
    DdlCapture,
    Defaults,
    History,
    NewTargets,
)
from airflow_ddlrepl.config.sections.retention import HoldLog, Limits, Retention, RewindHorizon
from airflow_ddlrepl.config.sections.run_settings import Capture, Lock, OnTrouble, Spark
from airflow_ddlrepl.config.sections.streams import Streams
from airflow_ddlrepl.config.sections.table_mapping import (
    PROPERTIES,
    Column,
    ConflictRule,
    Restrict,
    Restriction,
    Table,
    Transformation,
    for_replay,
)
from airflow_ddlrepl.config.sections.target_tables import TargetTable
from airflow_ddlrepl.hvr.transforms import refuse_hvr_transforms, split_transforms
from airflow_ddlrepl.hvr.version import HvrVersion
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.notation.section import Section

_NO_CLIENTS = Streams()


def _cron(value: str | None) -> str | None:
    from croniter import croniter

    if value not in (None, "@quarterly") and not croniter.is_valid(value):  # Airflow's own word
        raise ValueError('is no cron expression: write for example "*/5 * * * *" or "@hourly"')
    return value


class Channel(Section):
    """A channel file configures the replication of one source to its targets."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, validate_by_name=True, validate_by_alias=True
    )

    name: str = Field(alias="channel", pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,39}$", description="unique in its repository")
    source: Source
    targets: Targets = Field((), description="where changes go to")
    new_targets: NewTargets = Field(
        NewTargets.LOAD, description="when a target that is added later is loaded: by the next cycle, or by `activate`"
    )
    adapt_ddl: tuple[Action, ...] = Field((), description="actions for the source and for every target")
    ask_before: AsksBefore = ()
    column_properties: tuple[Column, ...] = Field((), description="names of columns at targets; columns that they lack")
    table_properties: tuple[Table, ...] = Field((), description="names of tables at the targets")
    restrict: tuple[Restrict, ...] = Field((), description="which rows of a table the targets take")
    transform: tuple[Transformation, ...] = Field((), description="which values the targets have, by Python functions")
    target_tables: tuple[TargetTable, ...] = Field(
        (), description="columns that only the targets have, and rows that stay there when they are deleted"
    )
    conflicts: tuple[ConflictRule, ...] = Field(
        (), description="what happens where a target's row is not the one that a change was made to"
    )
    db_sequence: DbSequence = None
    defaults: Defaults = Field(Defaults.OWN, description="whose defaults apply where no action decides")
    hvr_version: HvrVersion | None = Field(
        None, description="with `defaults: hvr`, such as 6.2.5/2: `check` warns of what this version of HVR lacks"
    )
    repository: str = Field(
        default_factory=default_repository, min_length=1, repr=False, description="URL; default: under $DDLREPL_HOME"
    )
    trail: str = Field(
        default_factory=default_trail, min_length=1, repr=False, description="URL or path; default: under $DDLREPL_HOME"
    )
    capture: Capture = Capture()
    spark: Spark = Spark()
    lock: Lock = Lock()
    retention: Retention = Retention()
    limits: Limits = Limits()
    rewind_horizon: RewindHorizon | None = Field(None, description="default: no rewind is possible")
    replays: tuple[Target, ...] = Field((), description="databases that only `ddlrepl rewind` writes to")
    replay_ddl: tuple[ReplayEntry, ...] = Field((), description="tables whose schema changes are replayed as text")
    streams: Streams | None = Field(None, description="Oracle Streams: clients by rules, in place of `targets`")
    schedule: Annotated[str | None, AfterValidator(_cron)] = Field(
        None, description="cron expression or preset for the channel's DAG; default: runs are started by hand"
    )
    on_trouble: OnTrouble = ""

    @field_validator("transform", mode="before")
    @classmethod
    def _transforms_are_there(cls, value: Any, known: ValidationInfo) -> Any:
        places = (known.data.get("source"), *known.data.get("targets", ()))
        actions = [known.data.get("adapt_ddl"), *(place.adapt_ddl for place in places if place)]
        mine, others = split_transforms(value)
        refuse_hvr_transforms(others, adapts=any(actions))
        return mine

    @field_validator("replay_ddl")
    @classmethod
    def _no_table_is_also_adapted(cls, value: Any, known: ValidationInfo) -> Any:
        _require_no_table_twice(value, known.data)
        return value

    @model_validator(mode="after")
    def _targets_differ(self) -> Channel:
        names = [target.name for target in self.databases]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two targets are called {', '.join(twice)}: a target's name is its identity")
        _require_known_targets(self)
        _require_names_by_map(self)
        _require_no_option_twice(self)
        if both := [replay.name for replay in self.replays if replay.history is History.BOTH]:
            raise ValueError(f"replay {both[0]} has history: both, which is for targets: write mirror or changelog")
        if timed := [replay.name for replay in self.replays if replay.apply_every]:
            raise ValueError(f"replay {timed[0]} has apply_every, which is for targets: no cycle applies to a replay")
        return self

    @property
    def targets_and_replays(self) -> tuple[Target, ...]:
        """Return every database that the channel writes to: targets and replays."""
        return (*self.targets, *self.replays)

    @property
    def clients(self) -> Streams:
        """Return the section of clients of Oracle Streams; one without any where the file has none."""
        return self.streams or _NO_CLIENTS

    @property
    def destinations(self) -> tuple[Place, ...]:
        """Return the targets that changes arrive at in each cycle: the channel's own, or those of apply processes."""
        return (*self.targets, *self.clients.targets)

    @property
    def databases(self) -> tuple[Place, ...]:
        """Return every database that the channel writes to, in whichever way."""
        return (*self.destinations, *self.replays)

    @property
    def captures_log(self) -> bool:
        """Return whether the source's log is captured: for `targets`, or by a capture process."""
        return bool(self.targets) or self.clients.captures

    @property
    def publication(self) -> str:
        """Return the name of the publication at the source."""
        return self.source.publication or _server_name(self.name)

    @property
    def slot(self) -> str:
        """Return the name of the replication slot at the source."""
        return self.source.slot or _server_name(self.name)

    @property
    def hold_log(self) -> HoldLog | None:
        """Return how much of its log the source holds after capture; None: nothing."""
        return self.rewind_horizon.hold_log if self.rewind_horizon else None

    def target(self, name: str) -> Target:
        """Return the target, or replay, of that name. Raises KeyError when there is none."""
        return _named(self.targets_and_replays, name)

    def place(self, name: str) -> Place:
        """Return the target, replay or target of an apply process of that name. Raises KeyError when there is none."""
        return {place.name: place for place in self.databases}[name]

    @property
    def has_properties(self) -> bool:
        """Return whether the file renames, filters or transforms anything at a target."""
        mapped = (self.source.extract, *(place.replicat for place in self.targets_and_replays))
        return any((*mapped, *(getattr(self, key) for key in PROPERTIES), *self.places_of_changes))

    @property
    def places_of_changes(self) -> tuple[Target, ...]:
        """Return the targets and replays that have a row for each change of a table (`history`)."""
        return tuple(place for place in self.targets_and_replays if place.history is History.CHANGELOG)

    def at(self, target: str) -> ChannelAt:
        """Return the channel at one target or replay."""
        return ChannelAt(self, target)

    def holder(self, name: str) -> str:
        """Return the name of a target's state in its database; one that may be there beside another has its own."""
        return f"{self.name}@{name}" if self.is_replay(name) or is_further(name) else self.name

    def with_replay_like(self, target: str) -> Channel:
        """Return this channel, its first replay with the actions, rules and properties of a target."""
        (first, *others), live = self.replays, self.target(target)
        keys = ("adapt_ddl", "rules", "replicat", "history")
        like_it = first.model_copy(update={key: getattr(live, key) for key in keys})
        names = (named_in_file(target), first.name)
        properties = {key: for_replay(getattr(self, key), *names) for key in PROPERTIES}
        return self.model_copy(update={"replays": (like_it, *others), **properties})

    def is_replay(self, name: str) -> bool:
        """Return whether the name is one of the `replays`."""
        return any(replay.name == name for replay in self.replays)

    def replays_text(self, name: TableName) -> bool:
        """Return whether `replay_ddl` is for this table: the targets run the text of the source's DDL statements."""
        return any(entry.covers(name) for entry in self.replay_ddl)

    def source_actions(self) -> tuple[AdaptAction, ...]:
        """Return the actions at the source, those of the source before those of the channel."""
        return self.source.adapt_ddl + self.adapt_ddl

    def fingerprint(self) -> str:
        """Return 32 hex digits that change when the file's settings change; its layout and passwords don't count."""
        return _fingerprint(self)


def _named(targets: tuple[Target, ...], name: str) -> Target:
    """Return the target of that name, without a dictionary: a plan asks many times for each table."""
    for target in targets:
        if target.name == name:
            return target
    raise KeyError(name)


def _server_name(channel: str) -> str:
    folded = "ddlrepl_" + re.sub(r"[^a-z0-9_]", "_", channel.lower())
    plain = folded == f"ddlrepl_{channel}"
    return folded if plain else f"{folded}_{hashlib.sha256(channel.encode()).hexdigest()[:8]}"


_NO_TEXT = "without event triggers (source.ddl: relations) the text of statements is not known"


def _require_no_table_twice(entries: tuple[ReplayEntry, ...], data: dict[str, Any]) -> None:
    """Raise ValueError when a replayed table may also be adapted or renamed. data: the fields read so far."""
    source: Source | None = data.get("source")
    if entries and source is not None and source.ddl is DdlCapture.RELATIONS:
        raise ValueError(_NO_TEXT)
    lists = {"adapt_ddl": data.get("adapt_ddl", ()), "source.adapt_ddl": source.adapt_ddl if source else ()}
    lists |= {f"{place}.adapt_ddl": target.adapt_ddl for place, target in _numbered(data)}
    named = {key: data.get(key, ()) for key in PROPERTIES}
    properties = {
        f"{key}[{i}]": one.tables
        for key, listed in named.items()
        for i, one in enumerate(listed)
        if not isinstance(one, Restriction) or not one.ignores_alone
    }
    listed = source.extract.tables if source and source.extract else ()
    properties |= {one.label: (one.table,) for one in listed if one.condition or one.cols or one.cols_except}
    require_no_overlap(entries, lists, properties, {place: target.schemas for place, target in _numbered(data)})


def _require_somewhere(channel: Channel) -> None:
    """Raise ValueError for a channel whose changes go nowhere, or by rules of Streams and by the tables' names, too."""
    if channel.streams is None:
        if not channel.targets:
            raise ValueError("targets: there is none, and no section streams: the changes would go nowhere")
        return
    if channel.targets or channel.replays:
        raise ValueError(
            "targets: a channel with streams has none: apply processes write to `streams: targets`;"
            " for both, write two channels"
        )
    if channel.ask_before:
        raise ValueError("ask_before: rules of Streams decide which DDL an apply process runs: leave the key out")
    if channel.source.ddl is DdlCapture.RELATIONS:
        raise ValueError("streams: rules need the shapes of tables, which source.ddl: relations does not have")


def _require_known_targets(channel: Channel) -> None:
    """Raise ValueError for a setting of a table that is for a target which does not exist; there must be one."""
    _require_somewhere(channel)
    known = [place.name for place in channel.targets_and_replays]
    for key in PROPERTIES:
        for number, one in enumerate(getattr(channel, key)):
            if unknown := [name for name in one.targets if name not in known]:
                raise ValueError(f"{key}[{number}].targets: there is no target or replay {', '.join(unknown)}")


def _require_names_by_map(channel: Channel) -> None:
    """Raise ValueError where a target with a Replicat can't run texts, or gets names by something else than MAP."""
    mapped = [place.name for place in channel.targets_and_replays if place.replicat is not None]
    if mapped and channel.source.ddl is DdlCapture.RELATIONS:
        raise ValueError(f"target {mapped[0]} has replicat, and {_NO_TEXT}")
    if mapped and channel.defaults is Defaults.HVR:
        raise ValueError(f"target {mapped[0]} has replicat, which is not for `defaults: hvr`: HVR runs no text")
    for number, one in enumerate(channel.table_properties):
        if also := [name for name in mapped if not one.targets or name in one.targets]:
            raise ValueError(
                f"table_properties[{number}] is for target {also[0]}, too, whose replicat gives tables their names:"
                " write a MAP there, and `targets` without it here"
            )


def _require_no_option_twice(channel: Channel) -> None:
    """Raise ValueError where the parameters of an Extract or a Replicat say what a section of the file says, too."""
    replicats = {one.name: one.replicat for one in channel.targets_and_replays if not is_further(one.name)}
    sections = {key: getattr(channel, key) for key in PROPERTIES}
    mapped_rows.require_no_option_twice(channel.source.extract, replicats, sections)


def _fingerprint(channel: Channel) -> str:
    data = channel.model_dump(mode="json", by_alias=True)
    data["source"]["location"] = redact(channel.source.location)
    for target in (*data["targets"], *data["replays"]):
        target["location"] = redact(target["location"])
    data["repository"], data["trail"] = redact(channel.repository), redact(channel.trail)
    data["spark"]["remote"] = redact(channel.spark.remote)
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:32]


def _numbered(data: dict[str, Any]) -> Iterator[tuple[str, Target]]:
    """Return targets and replays of a file that is still being validated, with their places in it."""
    for key in ("targets", "replays"):
        listed = (target for target in data.get(key, ()) if not is_further(target.name))
        yield from ((f"{key}[{number}]", target) for number, target in enumerate(listed))
