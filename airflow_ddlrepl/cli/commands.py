"""Carry out each command: open what it needs, call the flow or the repository, and return a result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from airflow_ddlrepl.adapt.policy import isolates
from airflow_ddlrepl.cli.open_channel import open_channel, wait_seconds
from airflow_ddlrepl.cli.terminal import Result, Table, TextResult
from airflow_ddlrepl.config.file.load import parameter_file_notes
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.location import process_user, resolve
from airflow_ddlrepl.config.sections.scope import discards
from airflow_ddlrepl.engines import source_types
from airflow_ddlrepl.errors import ConfigError, Exit, LocationUnusable
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.notation.moment import parse_until
from airflow_ddlrepl.notation.name_pattern import is_selected, table_patterns
from airflow_ddlrepl.notation.refresh_options import parse_snapshot
from airflow_ddlrepl.repository.process import this_holder
from airflow_ddlrepl.repository.repository import Repository


def with_flow(path: Path, act: Callable[[ModuleType, Any], Result], spark: str = "") -> Result:
    """Return the result of act(flow, run) on the opened channel; Spark starts when the first task needs it.

    spark: a master, or sc://… of a Spark Connect server; empty: as environment or channel say.
    """
    with open_channel(path) as channel:  # a mistake in the file is told before anything heavy is imported
        from airflow_ddlrepl import flow
        from airflow_ddlrepl.spark.execute.runner import SparkRunner
        from airflow_ddlrepl.spark.session.settings import SparkSettings

        runner = SparkRunner(SparkSettings.of(channel, spark), f"ddlrepl {channel.name}")
        try:
            with flow.RunContext(channel, runner, this_holder()) as run:
                run.wait_seconds = wait_seconds()
                return act(flow, run)
        finally:
            runner.stop()


@contextmanager
def _repository(path: Path) -> Iterator[tuple[Channel, Repository]]:
    with open_channel(path) as channel, Repository.open(channel.repository) as repository:
        yield channel, repository


def activate(
    path: Path,
    *,
    refresh: bool,
    enrollment: str = "keep",
    start: str = "now",
    trail: str = "keep",
    accept: str = "nothing",
    spark: str = "",
) -> Result:
    """Prepare the source, enroll its tables and load them, as `ddlrepl activate` does."""

    how = {"enrollment": enrollment, "start_moment": start, "trail": trail, "accept": accept}
    return with_flow(path, lambda flow, run: flow.by_arguments.activate(run, refresh=refresh, **how), spark)


def replicate(path: Path, spark: str = "", until: str = "", *, applies_now: bool = False) -> Result:
    """Run one cycle up to now, or up to `until` (a moment or a position). applies_now: no target's changes wait."""

    def act(flow: ModuleType, run: Any) -> Result:
        run.targets.applies_now = applies_now
        result = flow.replicate(run, parse_until(until, run.positions) if until else None)
        if not until and isolates(run.channel) and flow.has_isolated(run):
            result = replace(result, refresh=result.refresh.and_then(flow.refresh_isolated(run)))
        return cast(Result, result)

    return with_flow(path, act, spark)


def rewind(
    path: Path, to: str, into: str, tables: Sequence[str], *, only_plan: bool, onward: bool = False, spark: str = ""
) -> Result:
    """Build tables as of `to` in a replay or target, or with only_plan return the plan and change nothing."""
    wanted = table_patterns(tables)

    def act(flow: ModuleType, run: Any) -> Result:
        if only_plan:
            return cast(Result, flow.plan_rewind(run, parse_until(to, run.positions), into, wanted))
        return cast(Result, flow.by_arguments.rewind(run, to=to, into=into, tables=wanted, onward=onward))

    return with_flow(path, act, "" if only_plan else spark)


def plan(path: Path) -> Result:
    """Return what the next cycle would do to the targets' tables; nothing is changed."""
    return with_flow(path, lambda flow, run: flow.plan(run))


def explain_trail(path: Path, at: str) -> Result:
    """Return what became of the DDL statements in the trail. at: a position; empty: of all of them."""

    def act(flow: ModuleType, run: Any) -> Result:
        from airflow_ddlrepl.cli import explain_trail as asked

        events = (event for segment in run.trail.segments(run.epoch) for event in run.trail.events(segment))
        return asked.explain_trail(run.channel, events, run.positions.parse(at) if at else None)

    return with_flow(path, act)


def refresh(path: Path, tables: Sequence[str], options: str = "", spark: str = "") -> Result:
    """Load the tables that the patterns name again, and those that wait for a refresh."""
    return with_flow(path, lambda flow, run: flow.by_arguments.refresh(run, tables=tables, options=options), spark)


def roll_back(path: Path, tables: Sequence[str], snapshot: str, options: str = "", spark: str = "") -> Result:
    """Take tables of a lake back to snapshots of their own, and bring them up from the trail."""
    wanted = parse_snapshot(snapshot, tables, options)
    return with_flow(path, lambda flow, run: flow.roll_back(run, table_patterns(tables), wanted), spark)


def compare(path: Path, tables: Sequence[str], repairs: bool = False, spark: str = "") -> Result:
    """Return how source and targets differ; with `repairs` write the differing rows, then compare again."""
    wanted = table_patterns(tables)
    return with_flow(path, lambda flow, run: (flow.repair if repairs else flow.compare)(run, wanted), spark)


def maintain(path: Path, tables: Sequence[str], how: Mapping[str, str], spark: str = "") -> Result:
    """Maintain the tables of lakes that the patterns select. how: the thresholds, as texts."""
    return with_flow(path, lambda flow, run: flow.by_arguments.maintain(run, tables=tables, **how), spark)


def status(path: Path) -> Result:
    """Return the positions of the channel and its targets."""
    return with_flow(path, lambda flow, run: flow.status(run))


def check_cutover(path: Path, *, compares: bool, spark: str = "") -> Result:
    """Return what is missing for switching applications over to the targets. compares: compare all tables now."""
    return with_flow(path, lambda flow, run: flow.check_cut_over(run, compares=compares), spark)


def cut_over(
    path: Path, accepted: Sequence[str], *, compares: bool, headroom: int | None = None, spark: str = ""
) -> Result:
    """Bring the targets to the end of the source's log and stop the channel. accepted: codes of conditions."""

    def act(flow: ModuleType, run: Any) -> Result:
        return cast(Result, flow.cut_over(run, accepted, compares=compares, headroom=headroom))

    return with_flow(path, act, spark)


def undo_cutover(path: Path) -> Result:
    """Let a channel that is cut over go on."""
    return with_flow(path, lambda flow, run: flow.reopen(run))


def deactivate(path: Path) -> Result:
    """Remove everything of ours from the source and forget the channel."""
    return with_flow(path, lambda flow, run: flow.deactivate(run))


def schema() -> Result:
    """Return the JSON Schema of a channel file."""
    from airflow_ddlrepl.config.file.json_schema import json_schema

    return TextResult(json_schema(), "")


def check(path: Path) -> Result:
    """Validate the channel file and return warnings about settings without effect.

    Raises ConfigError, RuleError (RUL-…) for clients that can't be made, and Unsupported ADP-156 for a function
    of `transform` that can't be imported here, where the channel's driver runs.
    """
    from airflow_ddlrepl.cli.check_clients import notes_of_clients
    from airflow_ddlrepl.config.file.warnings import warnings
    from airflow_ddlrepl.flow.mapping.value_functions import require_functions

    with open_channel(path) as channel:
        require_functions(channel)
        notes = [
            *warnings(channel),
            *parameter_file_notes(path),
            *_missing_locations(channel),
            *notes_of_clients(channel),
        ]
    value = {"channel": channel.name, "file": str(path), "fingerprint": channel.fingerprint(), "warnings": notes}
    return TextResult(
        value, "\n".join([f"{path}: channel {channel.name} is valid", *(f"warning: {text}" for text in notes)])
    )


def import_hvr(path: Path, output: Path | None, channel: str) -> Result:
    """Compile the definition of an HVR channel into a channel file."""
    from airflow_ddlrepl.hvr.definitions import importing

    return importing.import_hvr(path, output, channel)


def import_goldengate(paths: Sequence[Path], *, has_yaml: bool) -> Result:
    """Read parameter files of GoldenGate into the sections `extract` and `replicat`."""
    from airflow_ddlrepl.goldengate.prm import importing

    return importing.import_goldengate(paths, has_yaml=has_yaml)


def import_streams(path: Path, *, has_yaml: bool) -> Result:
    """Read a script for Oracle Streams into the section `streams`."""
    from airflow_ddlrepl.streams.script import importing

    return importing.import_streams(path, has_yaml=has_yaml)


def explain_rules(path: Path, **question: Any) -> Result:
    """Explain what the clients of a file do with a change. question: the fields of `explain_rules.Question`."""
    from airflow_ddlrepl.cli import explain_rules as asked  # loads Arrow

    return asked.explain_rules(path, asked.Question(**question))


def _missing_locations(channel: Channel) -> Iterator[str]:
    places = {
        "source": channel.source.location,
        **{f"target {t.name}": t.location for t in channel.targets_and_replays},
    }
    for place, location in places.items():
        try:
            resolve(location)
        except LocationUnusable as error:  # what can't be used here can be used nowhere
            raise error.replaced(message=f"{place}: {error.message}") from None
        except ConfigError as error:
            yield f"{place}: {error.message} ({error.code}); it has to be there where the channel runs"


def revisions(path: Path, tables: Sequence[str], diff: str = "") -> Result:
    """Return every revision of the tables, or with diff `N..M` how one table differs between these two."""
    from airflow_ddlrepl.cli.shape_diff import parse_span, shape_diff

    wanted = table_patterns(tables)
    span = parse_span(diff) if diff else None
    with _repository(path) as (channel, repository):
        found = repository.revisions(channel.name)
        names = {row.table_id: row.name for row in repository.tables(channel.name)}
    if span:
        return shape_diff(found, span, wanted or ["*.*"], source_types(channel))
    rows = []
    for revision in found:
        name = revision.table.name if revision.table else names.get(revision.table_id)
        if name and is_selected(name, wanted):
            rows.append(_revision(revision, str(name)))
    columns = ("table", "revision", "from", "columns", "origin", "statement")
    return Table(columns, tuple(rows), "no revisions: the channel is not activated, or no table matches")


def _revision(found: Revision, name: str) -> dict[str, Any]:
    return {
        "table": name,
        "table_id": found.table_id,
        "revision": found.number,
        "from": str(Position(found.key.lsn)),
        "seq": found.key.seq,
        "columns": len(found.table.columns) if found.table else "dropped",
        "origin": str(found.origin),
        "is_ambiguous": found.is_ambiguous,
        "statement": found.statement,
        "shape": found.table.to_json() if found.table else None,
    }


def errors(path: Path) -> Result:
    """Return the errors that ended runs of the channel, newest first, behind what waits at targets."""
    with _repository(path) as (channel, repository):
        rows = [row.to_json() for row in repository.errors(channel.name)]
    if discards(channel) or channel.clients.targets:
        at_targets = with_flow(path, lambda flow, run: cast(Any, [*flow.queued_errors(run), *flow.discarded_rows(run)]))
        rows = [*cast(Any, at_targets), *rows]
    return Table(("id", "created", "stage", "code", "table", "at", "message", "hint"), tuple(rows), "no errors")


def retry(path: Path, tables: Sequence[str], spark: str = "") -> Result:
    """Bring the suspended tables that match, or all, up to their targets."""
    wanted = table_patterns(tables)
    return with_flow(path, lambda flow, run: flow.retry(run, wanted), spark)


def give_up(path: Path, tables: Sequence[str]) -> Result:
    """Let the suspended tables that match wait for a refresh."""
    wanted = table_patterns(tables)
    return with_flow(path, lambda flow, run: flow.give_up(run, wanted))


def controls(path: Path, *, removed: bool) -> Result:
    """Return the channel's controls, with `removed` also those that were removed."""
    with _repository(path) as (channel, repository):
        rows = tuple(row.to_json() for row in repository.controls(channel.name, removed=removed))
    columns = ("id", "target", "at", "policy", "reason", "created", *(("removed",) if removed else ()))
    return Table(columns, rows, "no controls")


def remove_control(path: Path, control: int) -> Result:
    """Remove the control of this id from the channel."""
    with _repository(path) as (channel, repository):
        row = repository.remove_control(channel.name, control, process_user())
    return TextResult(row.to_json(), f"control {row.id} is removed: {row.target} goes on past {Position(row.key.lsn)}")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A diagnosis is the findings of `ddlrepl doctor`."""

    findings: tuple[Any, ...]

    @property
    def exit_code(self) -> Exit:
        """Return FAILED when a finding is bad."""
        return Exit.FAILED if any(not finding.ok for finding in self.findings) else Exit.DONE

    def to_json(self) -> list[dict[str, Any]]:
        """Return the findings as JSON values."""
        return [finding.to_json() for finding in self.findings]

    def text(self) -> str:
        """Return the findings as lines for a person."""
        return "\n".join(finding.text() for finding in self.findings)


def doctor(path: Path | None) -> Diagnosis:
    """Check this machine, and the servers of a channel when its file is named."""
    with open_channel(path) if path else nullcontext() as channel:
        return Diagnosis(tuple(import_module("airflow_ddlrepl.doctor").run_doctor(channel)))
