"""This module replaces the paths of GoldenGate's parameter files in a channel file by what these files hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from airflow_ddlrepl.config.file.yaml_document import Place

READER = "airflow_ddlrepl.goldengate.prm.channel_parameters"
"""The module that reads a file: it imports this folder, and a grammar that other channel files have no need of."""

Report = Callable[[Place, str], None]


def with_parameter_files(data: Any, folder: Path | None, refused: Report, attention: Report) -> Any:
    """Return the data of a channel file with the parameters of each file that `extract` or `replicat` names.

    folder: of the channel file, which paths are relative to; None: it is no file. refused, attention: take what a file
    has that is wrong, or that somebody has to decide, with the place in the channel file.
    """
    for place, section, side in _sections(data):
        path = section.get(side)
        if not isinstance(path, str):
            continue
        if folder is None:
            refused((*place, side), "the path of a parameter file is for a channel file on disk")
            section.pop(side)
            continue
        found = import_module(READER).section_of(folder / path, side)
        for line in found.refused:
            refused((*place, side), line)
        for line in found.attention:
            attention((*place, side), line)
        if found.parameters is None:
            section.pop(side)
        else:
            section[side] = found.parameters
    return data


def _sections(data: Any) -> Iterator[tuple[Place, dict[str, Any], str]]:
    """Yield the sections that may have parameters of GoldenGate, with their places in the file."""
    if not isinstance(data, dict):
        return
    if isinstance(data.get("source"), dict):
        yield ("source",), data["source"], "extract"
    for key in ("targets", "replays"):
        listed = data.get(key)
        for number, one in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(one, dict):
                yield (key, number), one, "replicat"
