"""A Python of the workers' own: a virtual environment with the packages that docs/deployment.md lists, or fewer."""

from __future__ import annotations

import re
import shlex
import venv
from collections.abc import Iterable, Iterator
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/deployment.md"


def documented_packages() -> list[str]:
    """The packages of the image of workers without Airflow, as the page has them installed."""
    commands = re.findall(r"^pip install (?!--no-deps)(.*pyarrow.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    (command,) = {command.removesuffix("\\").strip() for command in commands}
    return shlex.split(command)


def own_python(folder: Path, packages: Iterable[str], *, with_product: bool = True) -> str:
    """Makes it in the folder, out of what is installed here and what that requires; returns its path."""
    venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
    (site,) = folder.glob("lib/python*/site-packages")
    for name in sorted(_closure(packages)):
        for top in {
            file.parts[0] for file in distribution(name).files or () if file.parts[0] not in ("..", "__pycache__")
        }:
            place = Path(str(distribution(name).locate_file(top)))
            if place.exists() and not (site / top).exists():
                (site / top).symlink_to(place)
    if with_product:
        (site / "airflow_ddlrepl").symlink_to(ROOT / "airflow_ddlrepl")
    return str(folder / "bin/python")


def _closure(packages: Iterable[str]) -> set[str]:
    found: set[str] = set()
    waiting = [Requirement(package) for package in packages]
    done: set[str] = set()
    while waiting:
        one = waiting.pop()
        if str(one) in done:
            continue
        done.add(str(one))
        found.add(one.name)
        waiting += _requirements(one)
    return found


def _requirements(one: Requirement) -> Iterator[Requirement]:
    for text in distribution(one.name).requires or ():
        needed = Requirement(text)
        if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in (*one.extras, "")):
            yield needed
