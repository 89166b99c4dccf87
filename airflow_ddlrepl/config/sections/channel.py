"""The channel: what is replicated from where to where, and what happens when a table's shape changes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo, WithJsonSchema, field_validator, model_validator

from airflow_ddlrepl.config.base.name_pattern import any_matches
from airflow_ddlrepl.config.base.section import Bytes, Seconds, Section, TablePattern, Whole, YesNo
from airflow_ddlrepl.config.hvr.transforms import refuse_hvr_transforms, split_transforms
from airflow_ddlrepl.config.sections.adapt_actions import Action, AdaptAction
from airflow_ddlrepl.config.sections.ddl_replay import ReplayEntry, require_no_overlap
from airflow_ddlrepl.config.sections.location import default_repository, default_trail, redact
from airflow_ddlrepl.config.sections.policies import (
    CaptureFormat,
    DdlCapture,
    Defaults,
    ExistingTables,
    NewTargets,
    OnAddColumnWithDefault,
    OnEnrollBreak,
    OnPreserveAlterTableFail,
    ReplicaIdentity,
)
from airflow_ddlrepl.config.sections.rule_sets import RuleSets
from airflow_ddlrepl.config.sections.table_mapping import (
    PROPERTIES,
    Column,
    ColumnProperty,
    Restrict,
    Restriction,
    Table,
    Transformation,
    digest,
    for_replay,
)
from airflow_ddlrepl.model.names import TableName


def _without_spaces(location: str) -> str:
    if "://" in location and re.search(r"\s", location.strip()):
        raise ValueError("a URL holds no spaces: write %20 for each")  # a password with one would show
    return location


Location = Annotated[
    str,
    Field(min_length=1, repr=False, description="an Airflow connection id or a URL; may hold ${VAR}"),
    AfterValidator(_without_spaces),
]
ServerName = Annotated[str, Field(pattern=r"^[a-z0-9_]{1,63}$")]


class Source(Section):
    """Where changes come from."""

    location: Location
    tables: tuple[TablePattern, ...] = Field(min_length=1, description='patterns "schema.table"; "*.*" is every schema')
    exclude: tuple[TablePattern, ...] = Field((), description="tables that `tables` matches but that stay out")
    publication: ServerName | None = Field(None, description="default: ddlrepl_<channel>")
    slot: ServerName | None = Field(None, description="default: ddlrepl_<channel>")
    replica_identity: ReplicaIdentity = Field(
        ReplicaIdentity.FULL, description="of tables without a usable key, or whose old rows are looked at"
    )
    reload_every: Seconds = Field(
        0, ge=0, description="how often a table that the log can't bring is loaded whole; 0: by every cycle"
    )
    ddl: DdlCapture = Field(DdlCapture.AUTO, description="how schema changes are seen")
    adapt_ddl: tuple[Action, ...] = Field((), description="actions for the source only; they come before the channel's")

    def wants(self, name: TableName) -> bool:
        """Is the table in `tables` and not in `exclude`?"""
        return any_matches(self.tables, name) and not any_matches(self.exclude, name)


class Target(Section):
    """Where changes go to."""

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,39}$", description="unique in the channel, never changed")
    location: Location
    schemas: dict[str, str] = Field({}, description="source schema: target schema; others keep their name")
    existing_tables: ExistingTables = Field(
        ExistingTables.REFUSE, description="a filled table of somebody else's where a new one is to be"
    )
    lock_timeout: Seconds = Field(
        5, ge=1, le=3600, description="how long a statement waits for a lock; it is tried again, then reported"
    )
    adapt_ddl: tuple[Action, ...] = Field(
        (), description="actions for this target only; they come before the channel's"
    )
    rules: RuleSets = Field(RuleSets(), description="which changes this target takes; they come before all policies")


class Capture(Section):
    """How the source's log is read."""

    parallel: Whole | None = Field(None, ge=1, le=256, description="ranges read at once; default: Spark's cores")
    window_bytes: Bytes = Field(1 << 30, ge=1 << 20, description="log bytes that one window reads at most")
    format: CaptureFormat = CaptureFormat.AUTO
    no_truncate: YesNo = Field(False, description="a TRUNCATE at the source is not captured: the targets' rows stay")


_CONF = WithJsonSchema({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}})


class Spark(Section):
    """How the Spark apps start."""

    master: str = Field("", description="Spark master URL; default: what spark-submit says, else local[*]")
    conf: Annotated[dict[str, str], _CONF] = Field({}, repr=False, description="Spark configuration")
    remote: str = Field("", repr=False, description="sc:// URL of a warm Spark Connect server")

    @field_validator("conf", mode="before")
    @classmethod
    def _as_text(cls, value: object) -> object:
        return {k: _spark_text(v) for k, v in value.items()} if isinstance(value, dict) else value


def _spark_text(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


class Lock(Section):
    """How long a run that went silent keeps the channel."""

    lease_seconds: Seconds = Field(60, ge=5, le=86400, description="then another run may take the channel over")


class Retention(Section):
    """How long the trail keeps what every target has."""

    age: Seconds | None = Field(None, ge=0, description="seconds, or 7d; default: kept for ever")
    size: Bytes | None = Field(None, ge=0, description="bytes, or 100GB; default: no limit")


class HoldLog(Section):
    """How much of its own log the source keeps, so that what the trail has lost can be read again.

    A second replication slot stands where that begins. Both may be given: what is older, or more, may go.
    """

    age: Seconds | None = Field(None, ge=60, description="seconds, or 1d")
    size: Bytes | None = Field(None, ge=1 << 20, description="bytes of the source's log, or 20GB")

    @model_validator(mode="after")
    def _has_an_end(self) -> HoldLog:
        if self.age is None and self.size is None:
            raise ValueError("needs age or size: the disk of a source has an end")
        return self


class RewindHorizon(Section):
    """How far back a rewind can go. Refreshes are kept in the trail, and repeated there before they are too old.

    What is older than that goes when `retention` lets it.
    """

    age: Seconds | None = Field(None, ge=60, description="seconds, or 7d; default: back to the first refresh kept")
    size: Bytes | None = Field(None, ge=1 << 20, description="bytes of trail to replay at most, or 100GB")
    hold_log: HoldLog | None = Field(None, description="default: the source's log may go once it is captured")


_STOPS = {
    OnEnrollBreak.FAIL_INTEG_JOB,
    OnAddColumnWithDefault.FAIL_INTEG_JOB,
    OnPreserveAlterTableFail.FAIL_INTEG_JOB,
}


class Channel(Section):
    """One channel file."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, validate_by_name=True, validate_by_alias=True
    )

    name: str = Field(alias="channel", pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,39}$", description="unique in its repository")
    source: Source
    targets: tuple[Target, ...] = Field(min_length=1, description="where changes go to")
    new_targets: NewTargets = Field(
        NewTargets.LOAD, description="a target added later: loaded by the next cycle, or when `activate` says so"
    )
    adapt_ddl: tuple[Action, ...] = Field((), description="actions for the source and for every target")
    column_properties: tuple[Column, ...] = Field(
        (), description="what columns are called at the targets, or not there"
    )
    table_properties: tuple[Table, ...] = Field((), description="what tables are called at the targets")
    restrict: tuple[Restrict, ...] = Field((), description="which rows of a table the targets take")
    transform: tuple[Transformation, ...] = Field((), description="which values the targets have, by Python functions")
    defaults: Defaults = Field(Defaults.OWN, description="whose defaults hold where no action says anything")
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
    rewind_horizon: RewindHorizon | None = Field(None, description="default: there is no going back")
    replays: tuple[Target, ...] = Field((), description="places that `ddlrepl rewind` fills, nothing else")
    replay_ddl: tuple[ReplayEntry, ...] = Field(
        (), description="tables whose schema changes are replayed as text, not adapted"
    )
    schedule: str | None = Field(None, description="cron expression or preset for the channel's DAG; default: by hand")

    @field_validator("schedule")
    @classmethod
    def _is_cron(cls, value: str | None) -> str | None:
        from croniter import croniter

        if value not in (None, "@quarterly") and not croniter.is_valid(value):  # Airflow's own word
            raise ValueError('is no cron expression: write for example "*/5 * * * *" or "@hourly"')
        return value

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
    def _no_table_is_also_adapted(
        cls, value: tuple[ReplayEntry, ...], known: ValidationInfo
    ) -> tuple[ReplayEntry, ...]:
        data = known.data
        source: Source | None = data.get("source")
        if value and source is not None and source.ddl is DdlCapture.RELATIONS:
            raise ValueError("without event triggers (source.ddl: relations) no statement's text is known")
        lists = {"adapt_ddl": data.get("adapt_ddl", ()), "source.adapt_ddl": source.adapt_ddl if source else ()}
        lists |= {f"{place}.adapt_ddl": target.adapt_ddl for place, target in _numbered(data)}
        named = {key: data.get(key, ()) for key in PROPERTIES}
        properties = {f"{key}[{i}]": one.tables for key, listed in named.items() for i, one in enumerate(listed)}
        require_no_overlap(value, lists, properties, {place: target.schemas for place, target in _numbered(data)})
        return value

    @model_validator(mode="after")
    def _targets_differ(self) -> Channel:
        names = [target.name for target in self.targets_and_replays]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two targets are called {', '.join(twice)}: a target's name is its identity")
        return self

    @model_validator(mode="after")
    def _properties_name_targets(self) -> Channel:
        known = [place.name for place in self.targets_and_replays]
        for key in PROPERTIES:
            for number, one in enumerate(getattr(self, key)):
                if unknown := [name for name in one.targets if name not in known]:
                    raise ValueError(f"{key}[{number}].targets: there is no target or replay {', '.join(unknown)}")
        return self

    @property
    def targets_and_replays(self) -> tuple[Target, ...]:
        """Everything that the channel writes to: targets and replays."""
        return (*self.targets, *self.replays)

    @property
    def publication(self) -> str:
        """Name of the publication at the source."""
        return self.source.publication or _server_name(self.name)

    @property
    def slot(self) -> str:
        """Name of the replication slot at the source."""
        return self.source.slot or _server_name(self.name)

    @property
    def hold_log(self) -> HoldLog | None:
        """How much of its log the source keeps after it is captured."""
        return self.rewind_horizon.hold_log if self.rewind_horizon else None

    def target(self, name: str) -> Target:
        """The target, or replay, of that name; KeyError when there is none."""
        return {target.name: target for target in self.targets_and_replays}[name]

    def target_name(self, target: str, name: TableName) -> TableName:
        """What the source's table is called at that target or replay.

        Its schema: the target's `schemas` come before integrate_schema. Its name: as table_properties say.
        """
        schema = self.target(target).schemas.get(name.schema)
        if schema is None:
            actions = (a for a in self.source_actions() if a.integrate_schema is not None and a.adds(name))
            schema = next((a.integrate_schema for a in actions), None)
        called = next((p.name for p in self.table_properties if p.applies_to(target, name)), name.name)
        return TableName(schema or name.schema, called)

    @property
    def has_properties(self) -> bool:
        """Does the file say anything of names at targets, of rows, or of values?"""
        return any(getattr(self, key) for key in PROPERTIES)

    def columns_at(self, target: str, table: TableName) -> tuple[ColumnProperty, ...]:
        """The column_properties of a table, named as at the source, at that target or replay."""
        return tuple(p for p in self.column_properties if p.applies_to(target, table))

    def properties_at(self, target: str, table: TableName) -> str:
        """What the four properties say of the table; empty when they don't."""
        of_table = (p for p in self.table_properties if p.applies_to(target, table))
        others = (self.restriction_at(target, table), self.transformation_at(target, table))
        return digest((*self.columns_at(target, table), *islice(of_table, 1), *filter(None, others)))

    def restriction_at(self, target: str, table: TableName) -> Restriction | None:
        """Which rows of a table, named as at the source, that target or replay takes; None: all."""
        return next((p for p in self.restrict if p.applies_to(target, table)), None)

    def transformation_at(self, target: str, table: TableName) -> Transformation | None:
        """Which function gives values of a table, named as at the source, at that target or replay; None: none."""
        return next((p for p in self.transform if p.applies_to(target, table)), None)

    def holder(self, name: str) -> str:
        """Under which name a target keeps where it stands: a replay may be in the database of a target."""
        return f"{self.name}@{name}" if self.is_replay(name) else self.name

    def with_replay_like(self, target: str) -> Channel:
        """This channel, whose first replay has the policies, rules and properties of a target."""
        (first, *others), live = self.replays, self.target(target)
        like_it = first.model_copy(update={"adapt_ddl": live.adapt_ddl, "rules": live.rules})
        names = (target, first.name)
        return self.model_copy(
            update={
                "replays": (like_it, *others),
                **{key: for_replay(getattr(self, key), *names) for key in PROPERTIES},
            }
        )

    def is_replay(self, name: str) -> bool:
        """Is it one of the `replays`?"""
        return any(replay.name == name for replay in self.replays)

    def replays_text(self, name: TableName) -> bool:
        """Do the table's schema changes run at the targets as the text that the source has run (`replay_ddl`)?"""
        return any(entry.covers(name) for entry in self.replay_ddl)

    def source_actions(self) -> tuple[AdaptAction, ...]:
        """Actions at the source, the most specific list first."""
        return self.source.adapt_ddl + self.adapt_ddl

    def target_actions(self, name: str) -> tuple[AdaptAction, ...]:
        """Actions at that target, the most specific list first."""
        return self.target(name).adapt_ddl + self.adapt_ddl

    @property
    def can_stop(self) -> bool:
        """Is there a policy by which a target waits for a person (a control)?"""
        actions = (action for place in self.targets_and_replays for action in self.target_actions(place.name))
        chosen = ((a.on_enroll_break, a.on_add_column_with_default, a.on_preserve_alter_table_fail) for a in actions)
        return any(policy in _STOPS for policies in chosen for policy in policies)

    def fingerprint(self) -> str:
        """Changes when the file says something else (passwords and layout of the file aside); 32 hex digits."""
        data = self.model_dump(mode="json", by_alias=True)
        data["source"]["location"] = redact(self.source.location)
        for target in (*data["targets"], *data["replays"]):
            target["location"] = redact(target["location"])
        data["repository"], data["trail"] = redact(self.repository), redact(self.trail)
        data["spark"]["remote"] = redact(self.spark.remote)
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:32]


def _server_name(channel: str) -> str:
    folded = "ddlrepl_" + re.sub(r"[^a-z0-9_]", "_", channel.lower())
    plain = folded == f"ddlrepl_{channel}"
    return folded if plain else f"{folded}_{hashlib.sha256(channel.encode()).hexdigest()[:8]}"


def _numbered(data: dict[str, Any]) -> Iterator[tuple[str, Target]]:
    """Targets and replays of a file that is being read, with their places in it."""
    for key in ("targets", "replays"):
        yield from ((f"{key}[{number}]", target) for number, target in enumerate(data.get(key, ())))
