"""Every stage is declared here, once: what it is called, what does it, who may start it, and with which arguments.

A function becomes a stage by `@stage(CAPTURE)`. Spark apps, operators, the command line, the channel's health and its
pages read this table. It imports none of the functions that it names: they import it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from typing import Any, get_args

from airflow_ddlrepl.config.sections.policies import Accepted, Enrollment, TrailChoice
from airflow_ddlrepl.flow.arguments import Argument, Form


class Cycle(Enum):
    """This is a stage's place in the cycle that makes a channel follow its source."""

    BEGINS = "begins"
    """It reads the source."""
    WITHIN = "within"
    ENDS = "ends"
    """When it has ended well, the targets have what was captured."""
    WHOLE = "whole"
    """It is a whole one: its time is that of the stages that it consists of."""
    BEFORE = "before"
    """It comes before the first one, captures and loads: its time is theirs, too."""
    ALONGSIDE = "alongside"
    """It runs as often, while cycles go on."""
    BESIDE = "beside"
    """It is no part of it: its failure says nothing of how the channel follows its source."""


@dataclass(frozen=True)
class Stage:
    """A stage is a step of a channel's work whose every run is recorded."""

    name: str
    """As the repository records it and people read it."""
    run: str
    """Where the function is that does it, with the arguments by name: `module:name` below `airflow_ddlrepl.flow`."""
    has_work: str = ""
    """Where the function is that looks whether it has work for tasks; empty: who starts it wants it done."""
    has_small_work: str = ""
    """Where the function is that looks whether there is something to do that needs no tasks."""
    cycle: Cycle = Cycle.BESIDE
    app: str = ""
    """The Spark app that runs it; empty: the command line alone does."""
    app_option: str = ""
    """The option by which the app does this, and not what it is named after."""
    arguments: tuple[Argument, ...] = ()
    part: str = ""
    """Which argument names the one client of Streams, or its target, that a run may be about alone."""
    of_targets: bool = False
    """It is about the section `targets`, which a channel with `streams` does not have."""
    of_clients: bool = False
    """It is about clients of Streams, which a channel without the section `streams` does not have."""
    instead: str = "docs/streams.md says what there is for apply processes, their tables and their errors"
    """What a channel with `streams` has in its place."""
    runs_when_cut_over: bool = False
    """It runs although applications use the targets; each other stage raises CannotCutOver CUT-101."""
    takes_turns: bool = True
    """It waits while another run works on the channel."""
    moves_targets: bool = True
    """It brings the channel's targets on, so that a backfill, which is about the past, skips it."""
    moves_rows: bool = False
    """It brings rows of the source to the targets: OpenLineage is told of which tables and columns."""

    @property
    def function(self) -> Callable[..., Any]:
        """Return what does it; its arguments are a run context, and those of `arguments` by name."""
        return found(self.run)

    def looks(self, run: Any, of: str = "") -> bool:
        """Has it work for tasks? It is looked, and nothing is done. of: the part that the run is about; empty: all."""
        return not self.has_work or bool(found(self.has_work)(run, *([of] if of else [])))

    def looks_for_small_work(self, run: Any) -> bool:
        """Is there something to do that needs no tasks? It is looked, and nothing is done."""
        return bool(self.has_small_work) and bool(found(self.has_small_work)(run))


def found(place: str) -> Callable[..., Any]:
    """Return the function at a place that a table names: `module:name` below `airflow_ddlrepl.flow`."""
    module, _, name = place.partition(":")
    function: Callable[..., Any] = getattr(import_module(f"airflow_ddlrepl.flow.{module}"), name)
    return function


TABLES = Argument("tables", "--table", Form.TABLES, ())
REFRESHING = (TABLES, Argument("options", "--options", default=""))
COMPARING = Argument("compare", "--compare", Form.SWITCH, False)

CAPTURE = Stage(
    "capture",
    run="capture.capture:capture",
    has_work="capture.capture:has_new_log",
    cycle=Cycle.BEGINS,
    app="capture",
)
ADAPT = Stage(
    "adapt",
    run="apply.advance:adapt",
    has_work="apply.advance:has_changes",
    cycle=Cycle.WITHIN,
    app="adapt_ddl",
    of_targets=True,
)
REFRESH = Stage(
    "refresh",
    run="by_arguments:refresh",
    has_work="refresh.refresh:has_loads",
    cycle=Cycle.WITHIN,
    app="refresh",
    arguments=REFRESHING,
    of_targets=True,
    moves_rows=True,
)
INTEGRATE = Stage(
    "integrate",
    run="apply.integrate:integrate",
    has_work="apply.integrate:has_rows",
    has_small_work="apply.integrate:has_log_without_rows",
    cycle=Cycle.ENDS,
    app="integrate",
    of_targets=True,
    moves_rows=True,
)
REFRESH_ISOLATED = Stage(
    "refresh_isolated",
    run="by_arguments:refresh_beside_others",
    has_work="admin.isolated_refresh:has_isolated",
    app="refresh",
    arguments=REFRESHING,
    takes_turns=False,
    moves_rows=True,
)
ISOLATE = Stage("isolate", run="admin.isolated_refresh:begin", cycle=Cycle.ALONGSIDE, of_targets=True)
SYNC_CAPTURE = Stage(
    "sync_capture",
    run="streams.sync_capture:sync_capture",
    has_work="streams.sync_capture:has_sync_captures",
    cycle=Cycle.WITHIN,
    app="sync_capture",
    of_clients=True,
)
PROPAGATE = Stage(
    "propagate",
    run="streams.propagation:propagate",
    has_work="streams.propagation:has_messages",
    cycle=Cycle.WITHIN,
    app="propagate",
    arguments=(Argument("propagation", "--propagation", default=""),),
    part="propagation",
    of_clients=True,
)
APPLY = Stage(
    "apply",
    run="cycle.run_clients:apply_queues",
    has_work="cycle.run_clients:has_queued",
    cycle=Cycle.ENDS,
    app="apply",
    arguments=(Argument("target", "--target", default=""),),
    part="target",
    of_clients=True,
)
REPLICATE = Stage("replicate", run="cycle.replicate:replicate", cycle=Cycle.WHOLE)
ACTIVATE = Stage(
    "activate",
    run="by_arguments:activate",
    cycle=Cycle.BEFORE,
    app="activate",
    arguments=(
        Argument("enrollment", "--enrollment", default="keep", choices=get_args(Enrollment)),
        Argument("start_moment", "--start-moment", default="now"),
        Argument("trail", "--trail", default="keep", choices=get_args(TrailChoice)),
        Argument("accept", "--accept", default="nothing", choices=get_args(Accepted)),
        Argument("refresh", "--no-refresh", Form.SWITCH, True),
    ),
    moves_targets=False,
)
RETAIN = Argument("retain", "--retain", default="5d")
SMALL_FILES = Argument("small_files", "--small-files", default="5")
DELETED_PERCENT = Argument("deleted_percent", "--deleted-percent", default="10")
MAINTAIN = Stage(
    "maintain",
    run="by_arguments:maintain",
    app="maintain",
    arguments=(TABLES, RETAIN, SMALL_FILES, DELETED_PERCENT),
    of_targets=True,
    moves_targets=False,
)
DEACTIVATE = Stage("deactivate", run="admin.activate:deactivate", runs_when_cut_over=True)
COMPARE = Stage(
    "compare",
    run="by_arguments:compare",
    app="compare",
    arguments=(TABLES,),
    takes_turns=False,
    moves_targets=False,
)
REPAIR = Stage("repair", run="by_arguments:repair", app="compare", app_option="--repair", arguments=(TABLES,))
REWIND = Stage(
    "rewind",
    run="by_arguments:rewind",
    app="rewind",
    arguments=(
        Argument("to", "--to"),
        Argument("into", "--into"),
        TABLES,
        Argument("onward", "--onward", Form.SWITCH, False),
    ),
    of_targets=True,
    moves_targets=False,
)
CHECK_CUT_OVER = Stage(
    "check_cut_over",
    run="by_arguments:check_cut_over",
    app="cutover",
    arguments=(COMPARING,),
    takes_turns=False,
    moves_targets=False,
)
CUT_OVER = Stage(
    "cutover",
    run="by_arguments:cut_over",
    app="cutover",
    app_option="--do",
    arguments=(COMPARING, Argument("accept", "--accept", Form.CODES, ())),
    of_targets=True,
    runs_when_cut_over=True,
)
REOPEN = Stage("reopen", run="cutover.cut_over:reopen", of_targets=True, runs_when_cut_over=True)
RETRY = Stage(
    "retry",
    run="admin.suspended:retry",
    of_targets=True,
    instead="`ddlrepl errors retry` with the ID of a transaction, or --all, applies again what waits in error queues",
)
ROLL_BACK = Stage("roll back", run="admin.roll_back:roll_back", of_targets=True)
GIVE_UP = Stage(
    "give up",
    run="admin.suspended:give_up",
    of_targets=True,
    instead="`ddlrepl errors delete` with the ID of a transaction removes it from its error queue",
)
RETRY_ERRORS = Stage("retry errors", run="streams.apply_process.apply_errors:retry_errors", of_clients=True)
DELETE_ERRORS = Stage("delete errors", run="streams.apply_process.apply_errors:delete_error", of_clients=True)
INSTANTIATE = Stage("instantiate", run="streams.instantiation.instantiate:instantiate", of_clients=True)

STAGES = {one.name: one for one in tuple(globals().values()) if isinstance(one, Stage)}
"""All stages, by their names."""


def names_of(*cycle: Cycle) -> frozenset[str]:
    """Return the names of the stages that have these places in the cycle."""
    return frozenset(one.name for one in STAGES.values() if one.cycle in cycle)


def app_stages(app: str) -> list[Stage]:
    """Return the stages that a Spark app runs, first the one that it runs without an option of its own."""
    return [one for one in STAGES.values() if one.app == app]
