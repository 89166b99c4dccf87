"""The facts of a channel are judged here: first each target, then the channel as the worst of all that is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from airflow_ddlrepl.errors import CannotAdapt, ControlStop, TablesSuspended, Unreachable
from airflow_ddlrepl.flow.health.facts import Facts
from airflow_ddlrepl.flow.health.failures import each_failure, failure_text, is_a
from airflow_ddlrepl.flow.health.remedies import Remedies
from airflow_ddlrepl.flow.health.verdict import Level, Remedy, Verdict, since_text, span_text, worst
from airflow_ddlrepl.flow.health.waits_for_a_person import Waiting
from airflow_ddlrepl.flow.stages import Cycle, names_of
from airflow_ddlrepl.repository.stored.health_rows import StageEnd
from airflow_ddlrepl.repository.stored.rows import ChannelState

LATE_SECONDS = 300.0
"""A target that is further behind is late, or three times the usual interval, whichever is more.

With `apply_every` so much further."""
LONG_SECONDS = 3600.0
"""A run that takes longer is told, or three times the usual interval, whichever is more."""
IDLE_SECONDS = 86_400.0
"""A channel without a schedule or a usual interval is late when nothing has run for so long."""
_TOLD_ELSEWHERE = (ControlStop, CannotAdapt, TablesSuspended)
"""Failures that are told as something that waits for a person."""
_READS = names_of(Cycle.BEGINS, Cycle.WHOLE)


def target_verdict(facts: Facts, target: str, items: list[Waiting]) -> Verdict:
    """Return how one target is."""
    before = _not_active(facts)
    if before is not None:
        return before
    found = facts.content.get("targets", {}).get(target)
    apply = next((one for one in facts.content.get("apply", ()) if one["target"] == target), None)
    if found is None and apply is None:
        return Verdict(Level.UNKNOWN, "nothing is known of it yet", remedy=_remedies(facts).replicate())
    known = {"missing": None, "tables": [], **(found or apply or {}), **_newest_lag(facts, target)}
    verdicts = [*_of_a_target(facts, target, known, items)]
    if (trouble := worst(verdicts)) is not None:
        return trouble
    if (wait := facts.wait(target)) is not None:
        return _waits(facts, known, wait)
    return _lag_unknown(facts, known) if known.get("lag_seconds") is None else _good(facts, known)


def _newest_lag(facts: Facts, target: str) -> dict[str, Any]:
    """Return the lag of the newest cycle, where the status is older; empty: the status tells it."""
    row = facts.newest_lag(target)
    return {} if row is None or row.lag_seconds is None else {"lag_seconds": row.lag_seconds}


def channel_verdict(facts: Facts, targets: dict[str, Verdict], items: list[Waiting]) -> Verdict:
    """Return how the channel is: the worst of what holds for it as a whole, and of its targets."""
    before = _not_active(facts)
    if before is not None:
        return before
    told = [*_of_the_channel(facts, items)]
    told += [
        replace(one, sentence=f"target {name} {one.sentence}") for name, one in targets.items() if _is_trouble(one)
    ]
    found = worst(told)
    if found is None:
        found = worst(targets.values()) or _good(facts, {"lag_seconds": None, "tables": []})
    people = len(items)
    if found.level is Level.WAITING and people > 1:
        found = replace(found, reason=f"{people} things wait for a person; the first: {found.sentence}: {found.reason}")
    return found


def _is_trouble(one: Verdict) -> bool:
    return one.level in (Level.BAD, Level.WAITING, Level.LATE)


def _not_active(facts: Facts) -> Verdict | None:
    """Return the verdict of a channel that does not replicate; None: it does."""
    remedies, since = _remedies(facts), facts.content.get("cut_over")
    if facts.state is ChannelState.CUT_OVER:
        when = f" since {since['since']}" if since else ""
        return Verdict(Level.GOOD, f"cut over{when}: applications use the targets, no run writes there")
    if facts.state is ChannelState.INACTIVE:
        return Verdict(Level.UNKNOWN, "deactivated: nothing is replicated", remedy=remedies.activate())
    if facts.state is not None and facts.is_captured and facts.state is not ChannelState.NEW:
        return None
    if facts.holder is not None and facts.holder.is_live:
        text = f"is being activated since {since_text(facts.holder.since, facts.now)}"
        return Verdict(Level.UNKNOWN, text, facts.holder.holder, as_of=facts.now)
    for end in facts.failures:
        return replace(_failed(facts, end), sentence=f"not activated: {_failed(facts, end).sentence}")
    return Verdict(Level.UNKNOWN, "not activated yet", "no table is loaded, nothing is captured", remedies.activate())


def _of_a_target(facts: Facts, target: str, known: dict[str, Any], items: list[Waiting]) -> Iterator[Verdict]:
    as_of = facts.status.taken if facts.status else None
    since = _target_failing_since(facts, target)
    if known["unreachable"]:
        when = f" since {since_text(since, facts.now)}" if since else ""
        help_ = Remedy("start the server, or correct its location: the next run goes on where this target is")
        yield Verdict(Level.BAD, f"does not answer{when}", known["unreachable"], help_, as_of)
    if known["missing"]:
        remedy = _remedies(facts).replicate("the next run prepares it, or says why it can't")
        yield Verdict(Level.WAITING, "is not prepared", known["missing"], remedy, as_of)
    ours = [one for one in items if one.target == target]
    if ours:
        yield replace(_of_people(ours), as_of=as_of)
    states = Counter(table["state"] for table in known["tables"])
    if pending := states["pending"] + states["new"]:
        remedy = _remedies(facts).refresh([], "the next run loads them")
        yield Verdict(Level.LATE, f"{_tables(pending)} to be loaded", "", remedy, as_of)
    lag = known.get("lag_seconds")
    if lag is not None and lag > (known.get("apply_every") or 0) + max(LATE_SECONDS, 3 * (facts.interval or 0)):
        sentence = f"is {span_text(lag)} behind the source"
        yield Verdict(Level.LATE, sentence, "", _remedies(facts).replicate(), as_of)


def _of_people(ours: list[Waiting]) -> Verdict:
    """Return the verdict of a target that waits for a person."""
    first, kinds = ours[0], Counter(one.kind for one in ours)
    if first.kind == "control":
        return Verdict(Level.WAITING, "waits for a person before a schema change", first.why, first.remedy)
    if first.kind == "suspended table":
        number = kinds[first.kind]
        return Verdict(Level.WAITING, f"{_tables(number)} for a person", f"{first.what}: {first.why}", first.remedy)
    return Verdict(Level.WAITING, first.what, first.why, first.remedy)


def _tables(number: int) -> str:
    return "has 1 table that waits" if number == 1 else f"has {number} tables that wait"


def _of_the_channel(facts: Facts, items: list[Waiting]) -> Iterator[Verdict]:
    as_of = facts.status.taken if facts.status else None
    source = facts.content.get("source_unreachable")
    if source and not _is_newer_success(facts):
        since = next((e.failing_since for e in facts.failures if is_a(e.failure, Unreachable)), None)
        when = f" since {since_text(since, facts.now)}" if since else ""
        help_ = Remedy("start the server, or correct its location: the next run reads all that is in its log")
        yield Verdict(Level.BAD, f"the source does not answer{when}", source, help_, as_of)
    for end in facts.failures:
        failure = end.failure or {}
        if not is_a(failure, *_TOLD_ELSEWHERE) and not _is_of_unreachable(facts, failure):
            yield _failed(facts, end)
    for why in facts.content.get("trail", {}).get("damaged", ()):
        yield Verdict(Level.BAD, "a file of the trail is missing or damaged", why, _remedies(facts).look(), as_of)
    own = [one for one in items if not one.target]
    if own:
        yield Verdict(Level.WAITING, own[0].what, own[0].why, own[0].remedy, as_of)
    yield from _of_time(facts)


def _is_of_unreachable(facts: Facts, failure: dict[str, Any]) -> bool:
    """Is the failure one of a source or target that does not answer, which is told of that?"""
    if not is_a(failure, Unreachable):
        return False
    return bool(failure.get("target") or facts.content.get("source_unreachable"))


def _is_newer_success(facts: Facts) -> bool:
    """Has a stage that reads the source ended well since the status was taken?"""
    taken = facts.status.taken if facts.status else None
    return not facts.failures and any(
        taken is None or end.ended > taken for name, end in facts.ends.items() if name in _READS
    )


def _failed(facts: Facts, end: StageEnd) -> Verdict:
    failure = end.failure or {"code": "", "message": "", "hint": ""}
    since = since_text(end.failing_since or end.ended, facts.now)
    sentence = (
        f"{end.stage} fails since {since}" if end.failing_since != end.ended else f"{end.stage} failed at {since}"
    )
    return Verdict(Level.BAD, sentence, failure_text(failure), Remedy(failure["hint"]), end.ended)


def _of_time(facts: Facts) -> Iterator[Verdict]:
    """Yield what is wrong with when the channel runs: a run that died, one that takes long, none for too long."""
    holder, last, interval = facts.holder, facts.last_end, facts.interval
    remedy = _remedies(facts).replicate()
    if holder is not None and not holder.is_live:
        since = since_text(holder.since, facts.now)
        yield Verdict(Level.LATE, f"a run that began at {since} has ended without a result", holder.holder, remedy)
    elif holder is not None:
        took = facts.age(holder.since)
        if took > max(LONG_SECONDS, 3 * (interval or 0)):
            yield Verdict(Level.LATE, f"a run goes on for {span_text(took)}", holder.holder, as_of=facts.now)
    elif last is None:
        yield Verdict(Level.UNKNOWN, "no run has told how the channel is", remedy=remedy)
    else:
        age = facts.age(last.ended)
        limit = IDLE_SECONDS if interval is None else max(3 * interval, interval + LATE_SECONDS)
        if age > limit:
            usual = "" if interval is None else f"it runs every {span_text(interval)}"
            yield Verdict(Level.LATE, f"nothing has run for {span_text(age)}", usual, remedy, last.ended)


def _good(facts: Facts, known: dict[str, Any]) -> Verdict:
    last = facts.last_end
    as_of = last.ended if last else (facts.status.taken if facts.status else None)
    if as_of is None:
        return Verdict(Level.UNKNOWN, "nothing is known of it yet", remedy=_remedies(facts).replicate())
    lag, ago = known.get("lag_seconds"), span_text(facts.age(as_of))
    if lag is not None and lag >= 1 and facts.status and as_of <= facts.status.taken:
        return Verdict(Level.GOOD, f"{span_text(lag)} behind the source, {ago} ago", as_of=as_of)
    return Verdict(Level.GOOD, f"up to date {ago} ago", as_of=as_of)


def _waits(facts: Facts, known: dict[str, Any], wait: dict[str, str]) -> Verdict:
    """Return the verdict of a target whose changes wait for `apply_every`."""
    until = since_text(datetime.fromisoformat(wait["until"]), facts.now)
    lag, as_of = known.get("lag_seconds"), facts.status.taken if facts.status else None
    behind = "" if lag is None else f", {span_text(lag)} behind the source"
    reason = f"apply_every is {span_text(known['apply_every'])}: a cycle after that applies what is captured"
    return Verdict(Level.GOOD, f"waits until {until}{behind}", reason, as_of=as_of)


def _lag_unknown(facts: Facts, known: dict[str, Any]) -> Verdict:
    """Return the verdict of a target of which nothing bad is known, nor how far it is behind the source."""
    reason = facts.content.get("source_unreachable") or "no run has told it yet"
    as_of = facts.status.taken if facts.status else None
    since = known.get("lag_unknown_since")
    when = f" since {since_text(datetime.fromisoformat(since), facts.now)}" if since else ""
    sentence = f"how far it is behind is not known{when}"
    return Verdict(Level.UNKNOWN, sentence, reason, _remedies(facts).replicate(), as_of)


def _target_failing_since(facts: Facts, target: str) -> Any:
    for end in facts.failures:
        if any(one.get("target") == target for one in each_failure(end.failure)):
            return end.failing_since
    return None


def _remedies(facts: Facts) -> Remedies:
    return Remedies(facts.channel, facts.file)
