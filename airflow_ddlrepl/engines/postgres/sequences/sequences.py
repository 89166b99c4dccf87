"""This module is the port of sequences for PostgreSQL: `engines.abilities.sequences` over one connection."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from airflow_ddlrepl.engines.abilities.sequences import (
    Choose,
    SequencePlan,
    SequencesWritten,
    TargetSequences,
    TrackedSequence,
)
from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.lock_retry import limit, patiently
from airflow_ddlrepl.engines.postgres.owners.strangers import errors_of, owned_by_strangers
from airflow_ddlrepl.engines.postgres.sequences.read import read, read_unlocked
from airflow_ddlrepl.engines.postgres.sequences.write import write
from airflow_ddlrepl.engines.postgres.sessions.session_names import session_name
from airflow_ddlrepl.engines.postgres.target import state, tracked_sequences
from airflow_ddlrepl.engines.target_state import Fence
from airflow_ddlrepl.errors import StrangeOwner
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.sequence import SequenceCatalog


@dataclass(frozen=True, slots=True)
class SourceSequences:
    """The sequences of a PostgreSQL source. connection: in autocommit mode."""

    connection: Connection[Any]

    def catalog(self, choose: Choose) -> SequenceCatalog:
        """Return all sequences, with the values of those that are chosen; nobody is waited for."""
        return read_unlocked(self.connection, choose)


@dataclass(frozen=True, slots=True)
class PostgresTargetSequences(TargetSequences):
    """The sequences of a PostgreSQL target.

    connection: in autocommit mode, with a limit for locks. trusted: names of roles that may own them.
    """

    location: str = field(repr=False)
    holder: str
    lock_timeout: float
    connection: Connection[Any]
    trusted: tuple[str, ...] = ()

    def catalog(self, choose: Choose) -> SequenceCatalog:
        return patiently(partial(read, self.connection, choose), self.connection, self.location)

    def tracked(self) -> dict[int, TrackedSequence]:
        return tracked_sequences.tracked(self.connection, self.holder)

    def of_other_channels(self) -> frozenset[TableName]:
        return tracked_sequences.of_other_channels(self.connection, self.holder)

    def owned_by_strangers(self, names: Collection[TableName]) -> Mapping[TableName, StrangeOwner]:
        with self.connection.cursor() as cursor:
            return errors_of(owned_by_strangers(cursor, dict.fromkeys(names, ()), self.trusted))

    def write(self, plan: SequencePlan, fence: Fence) -> SequencesWritten:
        if not tracked_sequences.is_there(self.connection):
            state.create(self.connection)
        name = session_name("integrate", self.holder, fence.token)
        with session(self.location, application_name=name) as connection:
            limit(connection, self.lock_timeout)
            return patiently(partial(write, connection, self.holder, plan, fence), connection, self.location)
