"""Channel files become DAGs: which files can be used, and what is wrong with the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from airflow.sdk import DAG

from airflow_ddlrepl.channel_dags.controls import controls_dag
from airflow_ddlrepl.channel_dags.enroll import enroll_dag
from airflow_ddlrepl.channel_dags.replicate import replicate_dag
from airflow_ddlrepl.channel_dags.rewind import rewind_dag
from airflow_ddlrepl.config.channel import Channel
from airflow_ddlrepl.config.load import load_channel
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.hooks.settings import files_at


def build_channel_dags(path: str | Path, **defaults: Any) -> dict[str, DAG]:
    """The DAGs of the channel file at `path`, or of every one in that folder, by DAG id.

    Raises ConfigError CFG-403 when two files describe the same channel; what is wrong with a file is told with its
    line. defaults: default arguments of the tasks, e.g. retries=5.
    """
    return dags_of(files_at(path), **defaults)


def dags_of(files: Iterable[Path], **defaults: Any) -> dict[str, DAG]:
    """As build_channel_dags, from a list of files."""
    built, refused = dags_and_refusals(files, **defaults)
    for error in refused:
        raise error
    return built


def dags_and_refusals(files: Iterable[Path], **defaults: Any) -> tuple[dict[str, DAG], list[ConfigError]]:
    """The DAGs of the files that can be used, and what is wrong with the others: one of them stops no other channel.

    Of two files that describe the same channel neither can be used.
    """
    built: dict[str, list[DAG]] = {}
    refused: list[ConfigError] = []
    twice: set[str] = set()
    for file in files:
        try:
            channel = load_channel(file)
            if channel.name in built:
                twice.add(channel.name)
                raise ConfigError(
                    f"{file} describes the channel {channel.name} for the second time",
                    code="CFG-403",
                    hint="a channel's name is its identity: rename one, or move one file out of the folder",
                )
            built[channel.name] = list(_dags(channel, file, defaults))
        except ConfigError as error:
            refused.append(error)
    usable = (dags for name, dags in built.items() if name not in twice)
    return {dag.dag_id: dag for dag in chain.from_iterable(usable)}, refused


def _dags(channel: Channel, file: Path, defaults: Mapping[str, Any]) -> Iterator[DAG]:
    yield replicate_dag(channel, file, **defaults)
    yield enroll_dag(channel, file, **defaults)
    if channel.replays:
        yield rewind_dag(channel, file, **defaults)
    if channel.can_stop:
        yield controls_dag(channel, file, **defaults)
