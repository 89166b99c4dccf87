"""Engines: the databases that the stages work with, each behind the same ports, found by a location's URL scheme.

This package's own modules are all that the stages know; `engines.<name>` is imported here alone, by its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from airflow_ddlrepl.config.sections.location import SCHEMES, resolve
from airflow_ddlrepl.errors import ConfigError

if TYPE_CHECKING:
    from airflow_ddlrepl.compare.report import TableReport
    from airflow_ddlrepl.config.sections.channel import Channel
    from airflow_ddlrepl.engines.comparing import CompareTask
    from airflow_ddlrepl.engines.loading import FinishTask, LoadedChunk, LoadTask
    from airflow_ddlrepl.engines.source import Source
    from airflow_ddlrepl.engines.staging import StageTask
    from airflow_ddlrepl.engines.target import Target
    from airflow_ddlrepl.errors import DdlReplError
    from airflow_ddlrepl.model.table import Table
    from airflow_ddlrepl.ports.positions import Positions
    from airflow_ddlrepl.ports.types import TypeSystem

_MODULES = {"postgresql": "airflow_ddlrepl.engines.postgres.engine"}
"""Scheme of a resolved location: the module whose ENGINE works with such databases."""


def register(scheme: str, module: str) -> None:
    """Make the ENGINE of a module the one for locations of a scheme, in this process and those that it forks."""
    SCHEMES[scheme] = scheme
    _MODULES[scheme] = module


class Engine(Protocol):
    """One kind of database: what opens a source or a target of it, and what it says of its drivers' errors."""

    @property
    def positions(self) -> Positions:
        """Return what the positions of a source's log mean."""
        ...

    @property
    def types(self) -> TypeSystem:
        """Return what the types of such a database do to values."""
        ...

    def source(self, channel: Channel, location: str) -> Source:
        """Return the channel's source; it connects when it is asked something. location: as `resolve` gives it."""
        ...

    def target(self, channel: Channel, name: str, location: str, seconds: int | None = None) -> Target:
        """Connect to the channel's target or replay of that name. seconds: that the server has to answer, at most.

        Raises Unreachable or ConfigError.
        """
        ...

    def whole_rows_hint(self, table: Table, section: str) -> str:
        """Return what a person has to do at a source of whose table the log does not tell whole old rows.

        section: of the channel file, which needs them.
        """
        ...

    def target_rights(self, location: str) -> tuple[str, str]:
        """Return what a target answers, and what has to be done there first; the second is empty when it is nothing.

        Raises Unreachable or ConfigError.
        """
        ...

    def stage(self, tasks: Sequence[StageTask]) -> list[Any]:
        """Do what `staging.stage_all` says."""
        ...

    def load(self, tasks: Sequence[LoadTask]) -> list[LoadedChunk]:
        """Do what `loading.load_chunks` says."""
        ...

    def finish_shadow(self, task: FinishTask) -> LoadedChunk:
        """Do what `loading.finish_shadow` says."""
        ...

    def compare(self, tasks: Sequence[CompareTask]) -> list[TableReport]:
        """Do what `comparing.compare_tables` says."""
        ...

    def reusing_sessions(self) -> AbstractContextManager[None]:
        """Keep sessions of this process that are closed inside the `with` for the next one of the same location."""
        ...

    def explained(self, error: BaseException) -> DdlReplError | None:
        """Return a driver's error as one that says what to do; None when it is none of this engine's drivers."""
        ...


def engine(location: str) -> Engine:
    """Return the engine for a location, as `config.sections.location.resolve` gives it."""
    return _engine(location.partition("://")[0])


def source_engine(channel: Channel) -> Engine:
    """Return the engine of the channel's source; nothing is connected."""
    return engine(resolve(channel.source.location))


def source_types(channel: Channel) -> TypeSystem:
    """Return what the source's types do to values; where its location is not known here, those of the first engine."""
    try:
        return source_engine(channel).types
    except ConfigError:
        return engines()[0].types


@cache
def _engine(scheme: str) -> Engine:
    return cast(Engine, import_module(_MODULES[scheme]).ENGINE)


def engines() -> tuple[Engine, ...]:
    """Return every engine that there is."""
    return tuple(_engine(scheme) for scheme in _MODULES)


@contextmanager
def reusing_sessions() -> Iterator[None]:
    """Keep sessions of all engines that are closed inside the `with` for the next one of the same location."""
    with ExitStack() as stack:
        for one in engines():
            stack.enter_context(one.reusing_sessions())
        yield


def explained(error: BaseException) -> DdlReplError | None:
    """Return an error of any engine's drivers as one that says what to do; None when it is no driver's."""
    return next((found for one in engines() if (found := one.explained(error)) is not None), None)
