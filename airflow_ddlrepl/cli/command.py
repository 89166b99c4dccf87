"""This module makes a function a command: it prints the function's result, and adds `--json` and `--wait`.

The options that several commands have stand here, too. A command imports what it works with alone: a module waits until
one of its names is asked for. `ddlrepl --help` needs the names of commands, and `ddlrepl status` no Arrow.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from functools import partial, wraps
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Annotated, Any

import typer

from airflow_ddlrepl.cli.open_channel import lock_wait
from airflow_ddlrepl.cli.terminal import Work, always_done, perform
from airflow_ddlrepl.config.sections.policies import Accepted, Enrollment
from airflow_ddlrepl.errors import Exit

ROWS = ("pyarrow", "pyarrow.compute", "pyarrow.parquet")
"""What reads and writes rows, a package before its parts: a third of a second for a command that has none.

numpy can't wait: psycopg looks whether it is in `sys.modules`, and asks for its names then.
"""
_loading = RLock()


class Side(StrEnum):
    """A side is the process that evaluates a statement: at the source, or at a target."""

    EXTRACT = "extract"
    REPLICAT = "replicat"


ChannelFile = Annotated[Path, typer.Argument(metavar="CHANNEL.yaml", help="The channel file.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on standard output, and nothing else there.")
]
WaitSeconds = Annotated[
    float,
    typer.Option(
        "--wait",
        min=0,
        metavar="SECONDS",
        show_default=False,
        help="Wait so long while another run works on the channel. Default: fail.",
    ),
]
Tables = Annotated[
    list[str] | None, typer.Option("--table", metavar="TABLE", help="schema.table; repeat it for more tables.")
]
Until = Annotated[
    str,
    typer.Option("--until", metavar="MOMENT|POSITION", help="Stop there: 2026-11-21T08:00:00+00:00, or 0/16B3748."),
]
Into = Annotated[
    str,
    typer.Option(
        "--into", metavar="NAME", help="One of the channel's `replays`, or a target. Default: the channel's target."
    ),
]
Start = Annotated[
    str,
    typer.Option(
        metavar="now|oldest|MOMENT|POSITION", help="Capture again from there, in the log that the source holds."
    ),
]
Known = Annotated[
    Enrollment,
    typer.Option(help="Keep the recorded shapes; or inspect every table again (regenerate); or do only that."),
]
Accept = Annotated[
    Accepted,
    typer.Option(
        help="Source or repository was put back to an older copy: load every table again as the source has it now. Or"
        " the source's server was upgraded: go on with its migrated slot."
    ),
]
Repair = Annotated[
    bool, typer.Option("--repair", help="Write the rows that differ, and nothing else; then compare again.")
]
RefreshOptions = Annotated[
    str,
    typer.Option(
        "--options",
        metavar="OPTIONS",
        help='For the tables named: "-gr -v" row by row, each difference as SQL; -f triggers fire; -mdi no deletes and'
        " inserts; -p2 two targets at a time. Default: -gb, in bulk.",
    ),
]
FromSnapshot = Annotated[
    str,
    typer.Option(
        "--from-snapshot",
        metavar="newest|ID",
        help="A lake's tables: not from the source, but from a snapshot of their own, and on from there by the trail.",
    ),
]
ExtractFile = Annotated[Path | None, typer.Option(metavar="FILE.prm", help="The parameter file of the Extract.")]
ReplicatFile = Annotated[Path | None, typer.Option(metavar="FILE.prm", help="The parameter file of the Replicat.")]
Spark = Annotated[
    str, typer.Option("--master", metavar="URL", help="Spark master, or sc://host:port of a Spark Connect server.")
]


def command(
    group: typer.Typer,
    name: str | None = None,
    exit_code_of: Callable[[Any], Exit] = always_done,
    *,
    takes_turns: bool = False,
) -> Callable[[Callable[..., Work]], Callable[..., Work]]:
    """Return a decorator that makes a function a command of the group, prints its result, and adds `--json` to it.

    exit_code_of: the exit code that a result means. takes_turns: it locks the channel, and has `--wait`.
    """

    def add(function: Callable[..., Work]) -> Callable[..., Work]:
        @wraps(function)
        def run(as_json: bool = False, wait_seconds: float = 0, **options: Any) -> None:
            with lock_wait(wait_seconds):
                raise typer.Exit(perform(partial(function, **options), as_json=as_json, exit_code_of=exit_code_of))

        own = inspect.signature(function, eval_str=True)
        added = [_option("wait_seconds", 0.0, WaitSeconds)] if takes_turns else []
        added.append(_option("as_json", False, AsJson))
        run.__signature__ = own.replace(parameters=[*own.parameters.values(), *added])  # type: ignore[attr-defined]
        group.command(name)(run)
        return function

    return add


def _option(name: str, default: Any, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


class Waiting(ModuleType):
    """This module runs when a name that it does not have yet is asked for. `import` alone asks for none.

    Importing a part of a package that waits asks for its `__path__`, which it does not have.
    """

    def __getattr__(self, name: str) -> Any:
        with _loading:
            if isinstance(self, Waiting):  # no other thread has run it meanwhile
                _run(self)
        return getattr(self, name)


class _Running(ModuleType):
    """This module is being run. Only the thread that runs it gets what it has so far."""

    def __getattr__(self, name: str) -> Any:
        with _loading:
            if name in self.__dict__:
                return self.__dict__[name]
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


def _run(module: ModuleType) -> None:
    spec = module.__spec__
    assert spec is not None and spec.loader is not None
    if spec.submodule_search_locations is not None:
        module.__path__ = spec.submodule_search_locations
    module.__class__ = _Running
    try:
        spec.loader.exec_module(module)
    except BaseException:
        module.__class__ = Waiting
        raise
    module.__class__ = ModuleType


def lazily(name: str) -> Any:
    """Return a module that is imported when one of its names is first asked for; `import` statements get it, too.

    The package that it is in has been imported, or put off. Raises ModuleNotFoundError where there is no such module.
    """
    if name in sys.modules:
        return sys.modules[name]
    parent, _, last = name.rpartition(".")
    package = sys.modules[parent].__spec__ if parent in sys.modules else None
    spec = PathFinder.find_spec(name, package.submodule_search_locations if package else None)
    if spec is None or bool(parent) is not bool(package):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    module = module_from_spec(spec)
    module.__dict__.pop("__path__", None)
    module.__class__ = Waiting
    sys.modules[name] = module
    if parent:
        setattr(sys.modules[parent], last, module)
    return module


def put_off(*names: str) -> None:
    """Let the modules wait until they are used; one that is not installed fails where it is imported."""
    for name in names:
        with suppress(ModuleNotFoundError):
            lazily(name)
