"""Tasks for the runner's tests; a runner finds a task by its name, so they stand in a module."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from pathlib import Path
from zipimport import zipimporter

from airflow_ddlrepl.errors import TrailError


def square(number: int) -> int:
    return number * number


def python_and_process(_: int) -> tuple[str, int]:
    return sys.executable, os.getpid()


def daemon(_: int) -> list[str]:
    """The command of the daemon that has forked this worker."""
    return Path("/proc/self/cmdline").read_text().split("\0")


def refuse_two(number: int) -> int:
    if number == 2:
        raise TrailError("file is gone", code="TRL-101", table="public.orders", at="0/1A", hint="read it again")
    return number


def divide(number: int) -> float:
    return 1 / number


def tell(location: str) -> None:
    raise ValueError(f"can't read {location}")


def archives_in_sight(_: int) -> list[str]:
    """Archives in which this Python looks for modules, and lists before its next task."""
    lister = [finder.archive for finder in sys.path_importer_cache.values() if isinstance(finder, zipimporter)]
    return [place for place in (*sys.path, *lister) if place.endswith((".zip", ".jar"))]


def passed_over(_: int) -> int:
    """How many objects this Python passes over when it collects garbage, as it does after each task."""
    return gc.get_freeze_count()


def import_nothing(_: int) -> None:
    importlib.import_module("no_such_package")
