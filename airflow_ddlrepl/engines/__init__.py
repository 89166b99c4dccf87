"""This package has the engines: the kinds of database that sources and targets are of, each behind the same ports.

An engine is found by the URL scheme of a location. The stages import this package's own modules alone;
`engines.<name>` is imported here only, by its name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast
from urllib.parse import urlsplit

from airflow_ddlrepl.config.sections.location import redact, resolve
from airflow_ddlrepl.engines.ability import Ability, Lack, able, find
from airflow_ddlrepl.errors import ConfigError, DdlReplError
from airflow_ddlrepl.known_engines import ENGINES

if TYPE_CHECKING:
    from airflow_ddlrepl.compare.report import TableReport
    from airflow_ddlrepl.config.sections.channel import Channel
    from airflow_ddlrepl.engines.comparing import CompareTask, WrittenKeys
    from airflow_ddlrepl.engines.differing import Differing, DifferingTask
    from airflow_ddlrepl.engines.loading import FinishTask, LoadedChunk, LoadTask
    from airflow_ddlrepl.engines.source import Source
    from airflow_ddlrepl.engines.staging import Stager
    from airflow_ddlrepl.engines.target import Target
    from airflow_ddlrepl.integrate.stage_task import StageTask
    from airflow_ddlrepl.model.names import TableName
    from airflow_ddlrepl.model.table import Table
    from airflow_ddlrepl.model.visibility import Stored, Visibility
    from airflow_ddlrepl.ports.change_values import ChangeValues
    from airflow_ddlrepl.ports.positions import Positions
    from airflow_ddlrepl.ports.types import TypeSystem


def register(scheme: str, module: str) -> None:
    """Make the ENGINE of a module the engine for locations of a scheme, in this process and those that it forks."""
    ENGINES[scheme] = module


class Engine(Protocol):
    """An engine is one kind of database: of sources, of targets, or of both, by the abilities that its class has."""

    @property
    def drivers(self) -> Mapping[str, str]:
        """Return what has to be installed to connect: the package of each module that is imported for it."""
        return {}

    @property
    def extra(self) -> str:
        """Return the extra of this package that installs the drivers."""
        return ""

    def fetched(self, locations: Sequence[str]) -> tuple[str, str]:
        """Return what is fetched once to this machine for databases of this kind, and the folder that it is in.

        It is fetched if it is missing. Both are empty where pip installs all. Raises ConfigError.
        """
        return "", ""

    def spark_properties(self, location: str) -> Mapping[str, str]:
        """Return what the driver's Spark session is started with, for a target that Java writes in that session.

        They are empty where Spark Connect is as good as any session. Raises ConfigError.
        """
        return {}

    def warm_up(self, folder: str) -> None:
        """Do in the driver's session what a window does, in a database of its own in a folder.

        A class archive is made of the classes that this needs; nothing is to do where Java writes nothing.
        """
        return

    @property
    def imported_beforehand(self) -> Sequence[str]:
        """Return the modules that most tasks with such a database import, for processes that fork tasks."""
        return ()

    @property
    def types(self) -> TypeSystem:
        """Return the type system of such a database: what its types do to values."""
        ...

    def datasets(self, location: str, table: TableName) -> Sequence[tuple[str, str]]:
        """Return a table's namespace and name as OpenLineage has them, and behind them others of the same table.

        location: as `resolve` returns it; no user and no password of it is in them.
        """
        parts = urlsplit(location)
        return [(f"{parts.scheme}://{parts.path}", str(table))]

    def reusing_sessions(self) -> AbstractContextManager[None]:
        """Reuse, inside the `with`, a session that this process has closed for the next one to the same location."""
        return nullcontext()

    def explained(self, error: BaseException) -> DdlReplError | None:
        """Return a driver's error as an error that says what to do; None when it is of no driver of this engine."""
        return None


class SourceEngine(Engine, Ability, ABC):
    """A source engine opens sources."""

    lack = Lack("is no source", "name a PostgreSQL database in `source`")

    @abstractmethod
    def source(self, channel: Channel, location: str) -> Source:
        """Return the channel's source at a location; nothing is connected before the first question.

        location: as `resolve` returns it.
        """

    def snapshot(self, stored: Stored) -> Visibility | None:
        """Return the snapshot that a source of this kind has stored so; None where it is none of this kind."""
        return None

    @property
    def positions(self) -> Positions:
        """Return the rules for a source's log positions: how they are read from text, and how far two are apart."""
        from airflow_ddlrepl.ports.positions import Positions

        return Positions()

    @property
    def values(self) -> ChangeValues:
        """Return how values of the trail are shown as Arrow values, for the change feed."""
        from airflow_ddlrepl.ports.family_values import FamilyValues

        return FamilyValues(self.types)

    def whole_rows_hint(self, table: Table, section: str) -> str:
        """Return what a person has to do so that the source's log contains the whole old rows of a table.

        section: the section of the channel file that needs them.
        """
        return f"have the source write the whole old rows of {table.name} into its log, or take `{section}` out"


class TargetEngine(Engine, Ability, ABC):
    """A target engine opens targets."""

    lack = Lack("is no target", "name a PostgreSQL database or a DuckDB file in `targets`")

    @abstractmethod
    def target(self, channel: Channel, name: str, location: str, seconds: int | None = None) -> Target:
        """Connect to the channel's target or replay of this name.

        seconds: how long the server has to answer, at most. Raises Unreachable or ConfigError.
        """

    def target_rights(self, location: str, schemas: Collection[str] = ()) -> tuple[str, str]:
        """Return a sentence about a target's answer, and the statements that have to be run there first.

        schemas: that the channel writes to. The second is empty when nothing has to be done. Raises Unreachable or
        ConfigError.
        """
        return f"{redact(location)} is a target", ""

    @abstractmethod
    def stager(self, task: StageTask) -> AbstractContextManager[Stager]:
        """Open what stores the rows of this task, and of others of the same target, in this process."""

    @abstractmethod
    def load(self, tasks: Sequence[LoadTask]) -> list[LoadedChunk]:
        """Load several chunks in this process, as `loading.load_chunks` documents."""

    def finish_shadow(self, task: FinishTask) -> LoadedChunk:
        """Make a loaded shadow table's key and statistics in this process, as `loading.finish_shadow` documents."""
        from airflow_ddlrepl.engines.loading import LoadedChunk

        return LoadedChunk()


class Compares(Ability, ABC):
    """An engine compares where it can read the rows of a target beside those of a source."""

    lack = Lack("does not compare its rows with a source's", "compare the other targets (`--target`)")

    @abstractmethod
    def compare(self, tasks: Sequence[CompareTask]) -> list[TableReport]:
        """Compare several tables in this process, as `comparing.compare_tables` documents."""

    def written_keys(self, task: WrittenKeys) -> dict[str, bool] | None:
        """Return the keys of rows that were written, as `comparing.written_keys` documents."""
        return None


class FindsDiffering(Ability, ABC):
    """An engine finds differing rows by digests, without reading them."""

    lack = Lack("has no digests of ranges of rows", "let the refresh load all rows")

    @abstractmethod
    def find_differing(self, task: DifferingTask) -> Differing | None:
        """Search a table for the rows that differ, as `differing.find_differing` documents."""

    @abstractmethod
    def load_mark(self, task: DifferingTask) -> str:
        """Return what the target stores of a load, as `differing.load_mark` documents."""


def engine(location: str) -> Engine:
    """Return the engine for a location, in the form that `config.sections.location.resolve` returns."""
    return _engine(location.partition("://")[0])


def of_sources(location: str) -> SourceEngine:
    """Return the engine for the location of a source. Raises Unsupported ADP-195 for one that has none."""
    return able(engine(location), SourceEngine)


def of_targets(location: str) -> TargetEngine:
    """Return the engine for the location of a target. Raises Unsupported ADP-195 for one that has none."""
    return able(engine(location), TargetEngine)


def source_engine(channel: Channel) -> SourceEngine:
    """Return the engine of the channel's source; nothing is connected."""
    return of_sources(resolve(channel.source.location))


def source_types(channel: Channel) -> TypeSystem:
    """Return the type system of the channel's source; that of sources' engines where the location is not known here."""
    try:
        return source_engine(channel).types
    except ConfigError:
        return engines_of_sources()[0].types


@cache
def _engine(scheme: str) -> Engine:
    return cast(Engine, import_module(ENGINES[scheme]).ENGINE)


def engines() -> tuple[Engine, ...]:
    """Return every engine that there is."""
    return tuple(_engine(scheme) for scheme in ENGINES)


def engines_of_sources() -> tuple[SourceEngine, ...]:
    """Return every engine that has sources."""
    return tuple(found for one in engines() if (found := find(one, SourceEngine)) is not None)


def stored_snapshot(stored: Stored) -> Visibility | None:
    """Return the snapshot that a source has stored so; None where no engine has one like it."""
    return next((found for one in engines_of_sources() if (found := one.snapshot(stored)) is not None), None)


@contextmanager
def reusing_sessions() -> Iterator[None]:
    """Reuse, inside the `with`, closed sessions of all engines, each for the next session to the same location."""
    with ExitStack() as stack:
        for one in engines():
            stack.enter_context(one.reusing_sessions())
        yield


def explained(error: BaseException) -> DdlReplError | None:
    """Return an error of ours as it is, and a driver's, of any engine, as one that says what to do; None for others."""
    if isinstance(error, DdlReplError):
        return error
    return next((found for one in engines() if (found := one.explained(error)) is not None), None)
