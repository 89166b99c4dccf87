"""Read Airflow's section `[ddlrepl]`: where channel files lie, which Spark connection is used, where results go."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from airflow_ddlrepl.folders import private_folder
from airflow_ddlrepl.get_provider_info import OPTIONS

SECTION = "ddlrepl"


def option(name: str) -> str:
    """Return the value of an option: AIRFLOW__DDLREPL__<NAME>, airflow.cfg, else the default."""
    from airflow.sdk.configuration import conf

    return str(conf.get(SECTION, name, fallback=OPTIONS[name]["default"] or "")).strip()


def channel_files() -> list[Path]:
    """Return the channel files that `[ddlrepl] channels` names: files, and *.yaml and *.yml in folders."""
    files: list[Path] = []
    for part in option("channels").split(os.pathsep):
        if part.strip():
            files += files_at(part.strip())
    return files


def files_at(path: str | Path) -> list[Path]:
    """Return a file as it is, or a folder's channel files in the order of their names."""
    place = Path(path).expanduser()
    if place.is_dir():
        return sorted(file for file in place.iterdir() if file.suffix in (".yaml", ".yml"))
    return [place]


def result_folder() -> Path:
    """Return the folder where an app leaves its result for the operator.

    It is `[ddlrepl] result_dir`, which gets mode 0700, else the temporary folder.
    """
    chosen = option("result_dir")
    if chosen:
        return private_folder(Path(chosen).expanduser().absolute())
    return Path(tempfile.gettempdir())
