"""Import parameter files of GoldenGate: the parameters of an Extract, a Replicat or both, and what is not taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.goldengate.parameters.extract import ExtractParameters
from airflow_ddlrepl.goldengate.parameters.replicat import ReplicatParameters
from airflow_ddlrepl.goldengate.prm.compile import compile_file
from airflow_ddlrepl.goldengate.prm.problems import ParameterFinding, Place, Problem, unreadable_file
from airflow_ddlrepl.goldengate.prm.source_text import read_source
from airflow_ddlrepl.notation.import_findings import WORST_FIRST, Fate, report_lines


@dataclass(frozen=True, slots=True)
class ParameterFile:
    """A parameter file is the parameters of an Extract or a Replicat, with what of the file is not in them."""

    file: str
    parameters: ExtractParameters | ReplicatParameters
    findings: tuple[ParameterFinding, ...]

    @property
    def section(self) -> str:
        """Return the name of the section that holds such parameters: extract or replicat."""
        return "extract" if isinstance(self.parameters, ExtractParameters) else "replicat"

    def to_json(self) -> dict[str, Any]:
        """Return the parameters, without those that have their default, as JSON values."""
        return self.parameters.model_dump(mode="json", exclude_defaults=True)

    def report(self) -> list[str]:
        """Return the findings as lines for a person, by class."""
        return [f"{self.section} from {self.file}", *report_lines(self.findings, self.file)]


@dataclass(frozen=True, slots=True)
class Imported:
    """An import is the parameters of one or two files. has_yaml: they are shown, and not the findings alone."""

    files: tuple[ParameterFile, ...]
    has_yaml: bool = True

    @property
    def is_whole(self) -> bool:
        """Return whether nothing had to be refused."""
        return not any(one.fate is Fate.REFUSED for file in self.files for one in file.findings)

    def to_json(self) -> dict[str, Any]:
        """Return the parameters and the findings as JSON values."""
        sections = {one.section: one.to_json() for one in self.files} if self.has_yaml else {}
        findings = [asdict(one) for file in self.files for one in file.findings]
        return {"files": [one.file for one in self.files], **sections, "findings": findings}

    def text(self) -> str:
        """Return the findings, at the head of the YAML text of the parameters where that is shown."""
        report = [line for one in self.files for line in one.report()]
        if not self.has_yaml:
            return "\n".join(report)
        sections = {one.section: one.to_json() for one in self.files}
        head = "\n".join(f"# {line}" for line in report)
        return f"{head}\n{yaml.safe_dump(sections, sort_keys=False, allow_unicode=True, width=110)}".rstrip("\n")


def read_parameter_file(path: Path) -> ParameterFile:
    """Return the parameters of a file.

    Raises ConfigError CFG-160 when it can't be opened, CFG-161 with every place where something is wrong with it.
    """
    try:
        source = read_source(path)
    except Problem as problem:
        raise unreadable_file([problem.located(lambda _: Place(str(path), 1, 1))]) from None
    compiled = compile_file(source)
    if compiled.problems:
        raise unreadable_file(compiled.problems)
    findings = sorted(compiled.findings, key=lambda one: (WORST_FIRST.index(one.fate), one.file, one.line, one.column))
    return ParameterFile(str(path), compiled.parameters, tuple(findings))


def read_extract(path: Path) -> ExtractParameters:
    """Return the parameters of an Extract's file. Raises ConfigError CFG-162 when it is a Replicat's."""
    found = read_parameter_file(path).parameters
    if not isinstance(found, ExtractParameters):
        raise ConfigError(f"{path} is the file of a Replicat", code="CFG-162", hint="give it with --replicat")
    return found


def read_replicat(path: Path) -> ReplicatParameters:
    """Return the parameters of a Replicat's file. Raises ConfigError CFG-162 when it is an Extract's."""
    found = read_parameter_file(path).parameters
    if not isinstance(found, ReplicatParameters):
        raise ConfigError(f"{path} is the file of an Extract", code="CFG-162", hint="give it with --extract")
    return found


def import_goldengate(paths: Sequence[Path], *, has_yaml: bool = True) -> Imported:
    """Return the parameters of an Extract's file, a Replicat's, or both. Raises ConfigError as each file does.

    Also raises CFG-163 for more than one file of a side.
    """
    files = tuple(read_parameter_file(path) for path in paths)
    if len({one.section for one in files}) < len(files):
        names = ", ".join(f"{one.file} ({one.section})" for one in files)
        raise ConfigError(f"more than one file of a side: {names}", code="CFG-163", hint="give one of each")
    return Imported(tuple(sorted(files, key=lambda one: one.section)), has_yaml)
