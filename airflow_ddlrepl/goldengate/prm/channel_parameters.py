"""A channel file may name the parameter files themselves; here they become its sections `extract` and `replicat`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.goldengate.parameters.extract import ExtractParameters
from airflow_ddlrepl.goldengate.parameters.replicat import ReplicatParameters
from airflow_ddlrepl.goldengate.prm.importing import read_parameter_file
from airflow_ddlrepl.notation.import_findings import Fate


@dataclass(frozen=True, slots=True)
class Section:
    """A section is what a parameter file gives a channel file.

    parameters: None when the file can't be used. refused, attention: lines for a person, each with FILE:LINE:COLUMN.
    """

    parameters: ExtractParameters | ReplicatParameters | None
    refused: tuple[str, ...] = ()
    attention: tuple[str, ...] = ()


def section_of(path: Path, side: str) -> Section:
    """Return the section of a parameter file. side: extract or replicat, the key that names the file."""
    try:
        file = read_parameter_file(path)
    except ConfigError as error:
        return Section(None, tuple(error.message.splitlines()))
    if file.section != side:
        return Section(None, (f"{path}:1:1: it is the file of {file.section}, not of {side}",))
    found: dict[Fate, list[str]] = {fate: [] for fate in Fate}
    for one in file.findings:
        found[one.fate].append(f"{one.place(str(path))}: {one.what}: {one.why}")
    refused = (f"{line}; then take it out of the parameter file" for line in found[Fate.REFUSED])
    return Section(file.parameters, tuple(refused), tuple(found[Fate.ATTENTION]))
