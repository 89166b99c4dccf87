"""The status of a channel says of each apply process where it is, and what waits in its error queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.admin.apply_lag import ApplyLag
from airflow_ddlrepl.flow.client_states.states import Applied
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.stages import APPLY
from airflow_ddlrepl.flow.streams.apply_process.allowed_code import LEFT_OUT, PART_LEFT_OUT
from airflow_ddlrepl.flow.streams.apply_process.apply import apply_process
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.flow.streams.instantiation.lacking_tables import lacking
from airflow_ddlrepl.flow.targets.lag import Lag, lag_text
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.repository.stored.rows import RunRow

MOST_LINES = 10


def apply_states(
    run: RunContext, runs: Sequence[RunRow], lag: ApplyLag | None = None
) -> tuple[list[dict[str, Any]], Applied]:
    """Return as JSON for each apply process its target, positions by feed, and how many transactions wait.

    Beside that the positions as such, by target.
    runs: the channel's newest.
    suspended: source tables that get no changes any more, and why. lacking: source tables of which the target may lack
    rows, and why. fewer_sessions: why its last run applied fewer transactions at the same time than `parallelism` says;
    None: it did not. left_out: statements with code or rights that did not run there, with their number in the runs
    that are known. unreachable: why nothing is known of it. lag_seconds and its like: as a target's, by `lag`.
    """
    found = list(_states(StreamsClients(run), runs, lag))
    return [state for state, _ in found], {state["target"]: feeds for state, feeds in found}


def _states(
    clients: StreamsClients, runs: Sequence[RunRow], lag: ApplyLag | None
) -> Iterator[tuple[dict[str, Any], dict[str, Position | None] | None]]:
    """Yield the state of each target as JSON, and its positions by feed; None where it does not answer."""
    results = [row.result for row in runs if row.stage == APPLY.name and row.result]
    for target in clients.section.targets:
        own = [one for one in results if any(at.startswith(f"{target.name}:") for at in one.get("positions", ()))]
        found: dict[str, Any] = {
            "target": target.name,
            "client": target.apply,
            "fewer_sessions": own[0].get("fewer_sessions", {}).get(target.name) if own else None,
            "left_out": _left_out(own),
            "unreachable": None,
        }
        try:
            with apply_process(clients, target) as process:
                places = list(process.positions())
                feeds = {feed.name: at for feed, at in places}
                waiting = process.there.errors(process.client.name)
                settings = clients.environment.apply_settings(process.client.name)
                lacks = [str(one) for one in lacking(process)]
                suspended = [str(one) for one in process.suspended()]
                behind = lag.of(process, places, waiting) if lag is not None else Lag(None)
        except DdlReplError as error:
            log.error("target %s: %s", target.name, error)
            unknown: dict[str, Any] = {
                "positions": {},
                "waiting": None,
                "is_disabled": None,
                "lacking": [],
                "suspended": [],
                **Lag(None).to_json(),
            }
            yield {**found, **unknown, "unreachable": error.message}, None
            continue
        positions = {name: None if at is None else str(at) for name, at in feeds.items()}
        is_disabled = bool(waiting) and settings.disables_on_error
        state = {"positions": positions, "waiting": len(waiting), "is_disabled": is_disabled, **behind.to_json()}
        yield {**found, **state, "lacking": lacks, "suspended": suspended}, feeds


def _left_out(results: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return which statements the runs of a target have left out for what they carry, and how often."""
    found: Counter[str] = Counter()
    for result in results:
        for why, number in result.get("discarded", {}).items():
            for mark, part in ((f": {LEFT_OUT}", ""), (f": {PART_LEFT_OUT}", ", a part of it")):
                statement, is_found, _ = why.partition(mark)
                found[statement + part] += number if is_found else 0
    return {statement: number for statement, number in found.items() if number}


def apply_lines(states: Iterable[dict[str, Any]]) -> list[str]:
    """Return the states of apply processes as lines for people."""
    lines = []
    for one in states:
        name = f"target {one['target']}, written by apply process {one['client']}"
        if one["unreachable"]:
            lines.append(f"{name}: {one['unreachable']}")
            continue
        places = ", ".join(f"{feed} at {at or 'its beginning'}" for feed, at in one["positions"].items())
        state = f", {lag_text(one)}{', disabled' if one['is_disabled'] else ''}"
        lines.append(f"{name}: {places or 'nothing comes into its queue'}{state}")
        if one["waiting"]:
            lines.append(f"  transactions that wait in its error queue: {one['waiting']} (`ddlrepl errors list`)")
        if one["fewer_sessions"]:
            lines.append(f"  in the last run {one['fewer_sessions']}")
        lines += [f"  left out: {text}" for text in list(one["left_out"])[:MOST_LINES]]
        if len(one["left_out"]) > MOST_LINES:
            lines.append(f"  {len(one['left_out']) - MOST_LINES} more statements are left out: --json lists them")
        lines += [f"  suspended: {text}" for text in one["suspended"]]
        lines += [f"  {text}" for text in one["lacking"][:MOST_LINES]]
        if len(one["lacking"]) > MOST_LINES:
            lines.append(f"  {len(one['lacking']) - MOST_LINES} more tables may lack rows: --json lists them")
    return lines
