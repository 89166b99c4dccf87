"""This module defines where changes come from and go to: the sections `source` and `targets` of a channel file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from airflow_ddlrepl.config.sections.adapt_actions import Action
from airflow_ddlrepl.config.sections.policies import DdlCapture, ExistingTables, History, OnError, ReplicaIdentity
from airflow_ddlrepl.goldengate.parameters.extract import ExtractParameters
from airflow_ddlrepl.goldengate.parameters.replicat import ReplicatParameters
from airflow_ddlrepl.goldengate.parameters.several_targets import most_targets
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.notation.arrangement import NOT_ARRANGED, Arrangement, partition_field, sort_field
from airflow_ddlrepl.notation.name_pattern import any_matches
from airflow_ddlrepl.notation.section import Bytes, Seconds, Section, TablePattern, YesNo


def _without_spaces(location: str) -> str:
    if "://" in location and re.search(r"\s", location.strip()):
        raise ValueError("a URL can't contain spaces: write %20 for each")  # a password with one would show
    return location


Location = Annotated[
    str,
    Field(min_length=1, repr=False, description="an Airflow connection id or a URL; may contain ${VAR}"),
    AfterValidator(_without_spaces),
]
ServerName = Annotated[str, Field(pattern=r"^[a-z0-9_]{1,63}$")]


def _or_file(takes: Any) -> BeforeValidator:
    """Return a validator that has the JSON Schema allow a path; `config.file.parameter_files` has read it by then."""
    return BeforeValidator(lambda value: value, json_schema_input_type=takes)


class Source(Section):
    """This section names the database that changes come from, and its tables."""

    location: Location
    tables: tuple[TablePattern, ...] = Field(min_length=1, description='patterns "schema.table"; "*.*" is every schema')
    exclude: tuple[TablePattern, ...] = Field(
        (), description="tables that are not replicated although `tables` matches them"
    )
    publication: ServerName | None = Field(None, description="default: ddlrepl_<channel>")
    slot: ServerName | None = Field(None, description="default: ddlrepl_<channel>")
    replica_identity: ReplicaIdentity = Field(
        ReplicaIdentity.FULL, description="for tables without a usable key, or whose old rows are needed"
    )
    reload_every: Seconds = Field(
        0, ge=0, description="how often a table that the log does not carry is loaded in full; 0: in every cycle"
    )
    ddl: DdlCapture = Field(DdlCapture.AUTO, description="how schema changes are detected")
    adapt_ddl: tuple[Action, ...] = Field((), description="actions for the source only; they come before the channel's")
    extract: Annotated[ExtractParameters, _or_file(ExtractParameters | str)] | None = Field(
        None,
        description="GoldenGate's Extract: which DDL is captured, and how its text changes; or the path of its file",
    )

    @property
    def leaves_identities(self) -> bool:
        """Does a table without a usable key stay out of the log?"""
        return self.replica_identity is ReplicaIdentity.LEAVE

    def includes(self, name: TableName) -> bool:
        """Return whether `tables` matches the table and `exclude` does not."""
        return any_matches(self.tables, name) and not any_matches(self.exclude, name)


def named_in_file(target: str) -> str:
    """Return the name that the channel file gives a target: of `site.2` and `site.changelog` it is `site`."""
    return target.partition(".")[0]


def is_further(target: str) -> bool:
    """Is a target in the same database as one of the channel file, for second tables of the source's (`Targets`)?"""
    return "." in target


def beside(target: str, places: Iterable[Place]) -> tuple[str, ...]:
    """Return the names of the others that are in a target's database for other tables of the source's."""
    own = named_in_file(target)
    return tuple(one.name for one in places if one.name != target and named_in_file(one.name) == own)


class Rule(Section):
    """A rule is true for changes of these tables: `"*.*"` for all, `"hr.*"` for a schema's, `"hr.jobs"` for one."""

    tables: tuple[TablePattern, ...] = Field(min_length=1, description='patterns "schema.table", as at the source')
    dml: YesNo = Field(True, description="their inserts, updates and deletes")
    ddl: YesNo = Field(True, description="their schema changes, creation and TRUNCATE")

    @model_validator(mode="after")
    def _is_about_something(self) -> Rule:
        if not self.dml and not self.ddl:
            raise ValueError("has no effect: dml and ddl are both false")
        return self


class RuleSets(Section):
    """A change is taken when no negative rule is true and, where there is a positive set, one of its rules is."""

    positive: tuple[Rule, ...] | None = Field(None, description="none: every change; an empty list: no change at all")
    negative: tuple[Rule, ...] | None = Field(None, description="looked at first: one that is true discards")


class Place(Section):
    """This section names a database that is written to, and says how long a statement waits for locks there."""

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,39}$", description="unique in the channel, never changed")
    location: Location
    lock_timeout: Seconds = Field(
        5, ge=1, le=3600, description="how long a statement waits for a lock; it is tried again, then reported"
    )
    trusted_owners: tuple[str, ...] = Field(
        (), description="roles that may own tables, schemas and types there: their code runs with the location's rights"
    )

    def arrangement_of(self, name: TableName) -> Arrangement:
        """Return by what a table is partitioned and sorted, by its name there."""
        return NOT_ARRANGED


def _is_field(text: str) -> str:
    partition_field(text)
    return text


def _is_sort_field(text: str) -> str:
    sort_field(text)
    return text


class TablePartitions(Section):
    """This section says how tables of a target are partitioned there, for queries; columns of their keys only."""

    tables: tuple[TablePattern, ...] = Field(min_length=1, description='patterns "schema.table", as at the target')
    by: tuple[Annotated[str, AfterValidator(_is_field)], ...] = Field(
        min_length=1,
        description="`bucket(16, id)`, `truncate(4, code)`, `years(day)`, `months(day)`, `days(day)`, `hours(at)`, or a"
        " column",
    )


class TableSort(Section):
    """This section says by which columns the rows of tables of a target are sorted in their files, for queries."""

    tables: tuple[TablePattern, ...] = Field(min_length=1, description='patterns "schema.table", as at the target')
    by: tuple[Annotated[str, AfterValidator(_is_sort_field)], ...] = Field(
        min_length=1, description="columns; `created_at desc` has large values first"
    )


class Target(Place):
    """This section names a database that changes go to."""

    schemas: dict[str, str] = Field({}, description="source schema: target schema; others have the same name")
    existing_tables: ExistingTables = Field(
        ExistingTables.REFUSE, description="what to do when the target already has a table of that name with rows"
    )
    on_error: OnError = Field(
        OnError.SUSPEND_TABLE,
        description="what happens when the target refuses a change of one table; with `replicat`: stop",
    )
    apply_every: Seconds = Field(
        0,
        ge=0,
        le=2_592_000,
        description="changes are gathered, and applied when the last apply began so long ago, or as much log waits as"
        " `capture.window_bytes`; 0: in every cycle",
    )
    suspended_log: Bytes = Field(
        20_000_000_000,
        ge=0,
        description="bytes of the trail, or 20GB, that a suspended table needs at most; beyond it waits for a refresh",
    )
    adapt_ddl: tuple[Action, ...] = Field(
        (), description="actions for this target only; they come before the channel's"
    )
    history: History = Field(
        History.MIRROR,
        description="what the target has of each table: its rows, a row for each change, or both",
    )
    rules: RuleSets = Field(RuleSets(), description="which changes this target takes; they come before all policies")
    partitions: tuple[TablePartitions, ...] = Field(
        (),
        description="how tables of a lake are partitioned, the first entry that matches: new ones, and others when they"
        " are loaded again; default: not at all",
    )
    sort: tuple[TableSort, ...] = Field(
        (),
        description="how rows of a lake's tables are sorted in their files, the first entry that matches: of new"
        " tables, and of others when they are loaded again; default: not at all",
    )
    replicat: Annotated[ReplicatParameters, _or_file(ReplicatParameters | str)] | None = Field(
        None, description="GoldenGate's Replicat: which tables go there by MAP, and which DDL; or the path of its file"
    )

    @model_validator(mode="before")
    @classmethod
    def _replicat_abends(cls, value: Any) -> Any:
        """Stop at a refused statement unless the file says otherwise: nothing of the log overtakes it."""
        if isinstance(value, dict) and value.get("replicat") is not None and "on_error" not in value:
            return {**value, "on_error": OnError.STOP}
        return value

    def arrangement_of(self, name: TableName) -> Arrangement:
        partitions, sort = (
            next((one.by for one in entries if any_matches(one.tables, name)), ())
            for entries in (self.partitions, self.sort)
        )
        return Arrangement(tuple(map(partition_field, partitions)), tuple(map(sort_field, sort)))

    @model_validator(mode="after")
    def _replicat_names_tables_alone(self) -> Target:
        if self.replicat is not None:
            if not self.replicat.maps:
                raise ValueError("replicat has no `maps`: no table would be at the target; write a MAP of each")
            for key in _BY_REPLICAT:
                if key in self.model_fields_set and getattr(self, key):
                    raise ValueError(f"{key} is not for a target with replicat: {_BY_REPLICAT[key]}")
        return self


def _with_further_targets(target: Target) -> tuple[Target, ...]:
    """Return a target, and those in the same database for further TARGETs of tables, or for their changes.

    Each has its own tables, and its own position in the log.
    """
    if target.history is History.BOTH:
        return target, target.model_copy(update={"name": f"{target.name}.changelog", "history": History.CHANGELOG})
    replicat = target.replicat
    most = most_targets(replicat.maps) if replicat is not None else 1
    if replicat is None or most < 2:
        return (target,)
    parts = ({"replicat": replicat.for_nth_target(number)} for number in range(1, most + 1))
    first, *others = (target.model_copy(update=part) for part in parts)
    further = (one.model_copy(update={"name": f"{one.name}.{number}"}) for number, one in enumerate(others, 2))
    return (first, *further)


Targets = Annotated[
    tuple[Target, ...],
    AfterValidator(lambda value: tuple(one for target in value for one in _with_further_targets(target))),
]
"""The targets of a channel file, with those that are added for further TARGETs of tables, and for their changes."""

_BY_REPLICAT = {
    "history": "`insert_all_records` of its parameters makes a row for each change",
    "schemas": "its `maps` give tables their names",
    "adapt_ddl": "it runs the source's statements; `ddl` and `errors` of replicat say what becomes of them",
}
