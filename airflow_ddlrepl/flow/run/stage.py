"""A stage is a function whose every run is recorded: who ran, what it did, why it failed."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from datetime import UTC, datetime
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, TypeVar

from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.engines import explained
from airflow_ddlrepl.errors import DdlReplError, LockHeld
from airflow_ddlrepl.errors.carried import kind_name
from airflow_ddlrepl.flow.pipelines import require_stage
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.fencing import require_not_cut_over
from airflow_ddlrepl.flow.run.results import Printable
from airflow_ddlrepl.flow.stages import Stage
from airflow_ddlrepl.repository.stored.health_rows import Outcome, StageEnd
from airflow_ddlrepl.repository.stored.rows import RunStatus

Given = ParamSpec("Given")
Result = TypeVar("Result", bound=Printable)
Work = Callable[Concatenate[RunContext, Given], Result]
SELDOM = (10_000, 10, 10)
"""How many new objects, and how many collections of the younger ones, start a garbage collection in a stage."""


MOST_STATEMENTS = 200
"""The row of a stage in the repository has so many of the statements that it executed; the log has all."""


def stage(declared: Stage) -> Callable[[Work[Given, Result]], Work[Given, Result]]:
    """Make a function the stage of this row: it holds the channel's lock, and its run and its error are recorded.

    A stage inside a stage (`replicate` calls `capture`) has a run of its own; an error is recorded once,
    where it happened. A target that the run leaves out (it does not answer, it can't be prepared) fails the outermost
    one, when the others have what is theirs.
    """

    name = declared.name

    def decorate(work: Work[Given, Result]) -> Work[Given, Result]:
        def run(context: RunContext, /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
            is_outermost = not context.token

            def whole() -> Result:
                if not is_outermost:
                    return work(context, *args, **kwargs)
                context.stage = name
                require_stage(context.channel, declared)
                if not declared.runs_when_cut_over:
                    require_not_cut_over(context)
                try:
                    result = work(context, *args, **kwargs)
                finally:
                    with _never_in_the_way():
                        context.keep_failed_targets()
                context.targets.raise_failed()
                return result

            alone = _old_objects_left_alone() if is_outermost else nullcontext()
            with errors_recorded(context, name), context.locked(name), alone:
                if not is_outermost:
                    return _recorded(context, name, whole)
                return _with_outcome(context, name, lambda: _recorded(context, name, whole))

        update_wrapper(run, work)
        return run

    return decorate


@contextmanager
def _old_objects_left_alone() -> Iterator[None]:
    """Exclude what is there already from garbage collection: the modules, and the shapes of thousands of tables.

    It would visit them again and again while rows of many tables pass, for a fifth of the time that they take. What the
    stage makes itself, mostly shapes that live to its end, is visited less often than usual.
    """
    usual = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()


def _recorded(context: RunContext, name: str, work: Callable[[], Result]) -> Result:
    place = (context.channel.name, context.token, context.run_id, name)
    context.repository.start_run(*place)
    before = len(context.executed)
    try:
        result = work()
    except Exception:
        with _never_in_the_way():
            context.repository.finish_run(*place, RunStatus.FAILED, _executed(context, before) or None)
        raise
    context.repository.finish_run(*place, RunStatus.DONE, result.to_json() | _executed(context, before))
    return result


def _executed(context: RunContext, before: int) -> dict[str, Any]:
    """Take the SQL that a stage has run, as its row in the repository has it; a stage around it has only its own.

    before: how many statements ran earlier.
    """
    found = context.executed[before:]
    del context.executed[before:]
    some = [asdict(one) for one in found[:MOST_STATEMENTS]]
    return {"executed": some, "executed_total": len(found)} if found else {}


def _with_outcome(context: RunContext, name: str, work: Callable[[], Result]) -> Result:
    """Tell how the stage has ended, whatever its end: its last words are the channel's status."""
    began = datetime.now(UTC)
    try:
        result = work()
    except Exception as error:
        with _never_in_the_way():
            _require_channel(context)
            known = explained(error) or _unexpected(error)
            end = StageEnd(name, context.run_id, began, datetime.now(UTC), Outcome.FAILED, failure=failure_json(known))
            context.stage_ended(end, {})
        raise
    with _never_in_the_way():
        context.stage_ended(StageEnd(name, context.run_id, began, datetime.now(UTC), Outcome.DONE), result.to_json())
    return result


def _require_channel(context: RunContext) -> None:
    """Raise Fenced LCK-102 when the run has lost the channel: the run that has it says how the channel is."""
    with context.repository.together(context.channel.name, context.token):
        pass


def failure_json(error: DdlReplError) -> dict[str, Any]:
    """Return what ended a stage as JSON. others: what else has failed in it, of other targets or tables."""
    return {
        "kind": kind_name(error),
        "code": error.code,
        "message": redact(error.message_with_names),
        "hint": redact(error.hint),
        "target": error.target,
        "table": error.table,
        "client": error.client,
        "at": error.at,
        "others": [failure_json(one) for one in error.others],
    }


@contextmanager
def errors_recorded(context: RunContext, name: str) -> Iterator[None]:
    """Record what ends the stage for `ddlrepl errors`; a driver's error is explained first."""
    try:
        yield
    except Exception as error:
        if isinstance(error, LockHeld) and context.comes_again:
            raise
        known = explained(error)
        with _never_in_the_way():
            context.keep_error(name, known or error, known or _unexpected(error))
        if known is None or known is error:
            raise
        raise known from error


@contextmanager
def _never_in_the_way() -> Iterator[None]:
    """Log an error of recording and go on: the error that ended the stage is the one to show."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever it is, the first error matters more
        log.warning("could not record it: %s", redact(str(error)))


def _unexpected(error: Exception) -> DdlReplError:
    text = redact(str(error)).strip().partition("\n")[0]
    return DdlReplError(f"unexpected {type(error).__name__}: {text}", code="INT-100", hint="please report it")
