"""Build the DAGs of channel files, and report the files that can't be used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, get_parsing_context

from airflow_ddlrepl.adapt.policy import can_stop, isolates
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.dags.compare import compare_dag
from airflow_ddlrepl.dags.controls import controls_dag
from airflow_ddlrepl.dags.cutover import cutover_dag
from airflow_ddlrepl.dags.enroll import enroll_dag
from airflow_ddlrepl.dags.maintain import maintain_dag
from airflow_ddlrepl.dags.parts.unusable import Refusal, unusable_dag
from airflow_ddlrepl.dags.plan import plan_dag
from airflow_ddlrepl.dags.refresh import isolated_refresh_dag, refresh_dag
from airflow_ddlrepl.dags.replay import replay_dag
from airflow_ddlrepl.dags.replicate import replicate_dag
from airflow_ddlrepl.dags.rewind import rewind_dag
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.flow.targets.maintenance import maintained_targets
from airflow_ddlrepl.hooks.settings import files_at


def build_channel_dags(path: str | Path, **defaults: Any) -> dict[str, DAG]:
    """Return the DAGs of the channel file at `path`, or of every channel file in that folder, by DAG id.

    A file that can't be used stops no other channel: it has one DAG, whose name and documentation say what is wrong.
    Raises ConfigError when no file can be used. defaults: default arguments of the tasks, e.g. retries=5.
    """
    built, refused = dags_and_refusals(files_at(path), **defaults)
    if refused and not built:
        raise all_of(refused)
    return built | {dag.dag_id: dag for dag in map(unusable_dag, refused)}


def check_channel_dags(files: str | Path | Iterable[Path]) -> None:
    """Raise ConfigError CFG-404 when some of the channel files can't be used: in a DAG file, it is an import error.

    Airflow takes no DAG from a file that raises, so the file that calls this must build none.
    files: a channel file, a folder of them, or a list of files.
    """
    _, refused = dags_and_refusals(files_at(files) if isinstance(files, str | Path) else files)
    if refused:
        raise all_of(refused)


def all_of(refused: Sequence[Refusal]) -> ConfigError:
    """Return one ConfigError for all files that can't be used; several errors are quoted in one."""
    errors: list[ConfigError] = list(dict.fromkeys(one.error for one in refused))
    if len(errors) == 1:
        return errors[0]
    reasons = "\n".join(map(str, errors))
    return ConfigError(f"{len(refused)} channel files can't be used\n{reasons}", code="CFG-404")


def dags_and_refusals(files: Iterable[Path], **defaults: Any) -> tuple[dict[str, DAG], list[Refusal]]:
    """Return the DAGs of the files that can be used, and what is wrong with the others.

    Of two files that describe the same channel neither can be used.
    """
    channels: dict[str, list[tuple[Path, Channel]]] = {}
    built: list[DAG] = []
    refused: list[Refusal] = []
    for file in _needed(list(files)):
        try:
            channel = load_channel(file)
        except ConfigError as error:
            refused.append(Refusal(file, error))
        else:
            channels.setdefault(channel.name, []).append((file, channel))
    for name, found in channels.items():
        if len(found) == 1:
            built += _dags(found[0][1], found[0][0], defaults)
        else:
            repeated = _repeated(name, [file for file, _ in found])
            refused += [Refusal(file, repeated) for file, _ in found]
    return {dag.dag_id: dag for dag in built}, refused


def _needed(files: Sequence[Path]) -> Sequence[Path]:
    """Return the files that may describe the channel of the task that this process runs; all when it runs none."""
    running = get_parsing_context().dag_id or ""
    channel = running.removeprefix("ddlrepl__").rpartition("__")[0]
    if not channel or not running.startswith("ddlrepl__"):
        return files
    return [file for file in files if _names(file, channel)] or files


def _names(file: Path, channel: str) -> bool:
    """Return whether the file's text contains the channel's name; True when it can't be read: loading reports that."""
    try:
        return channel in file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True


def _repeated(name: str, files: Sequence[Path]) -> ConfigError:
    return ConfigError(
        f"{' and '.join(map(str, files))} describe the same channel {name}",
        code="CFG-403",
        hint="a channel's name is its identity: rename one, or move one file out of the folder",
    )


def _dags(channel: Channel, file: Path, defaults: Mapping[str, Any]) -> Iterator[DAG]:
    yield replicate_dag(channel, file, **defaults)
    yield enroll_dag(channel, file, **defaults)
    if not channel.targets:  # which the other DAGs are about, and clients of Streams have none
        return
    for build in (plan_dag, refresh_dag, compare_dag, cutover_dag):
        yield build(channel, file, **defaults)
    if isolates(channel):
        yield isolated_refresh_dag(channel, file, **defaults)
    if channel.replays:
        yield rewind_dag(channel, file, **defaults)
    if channel.replays and channel.schedule:
        yield replay_dag(channel, file, **defaults)
    if maintained_targets(channel):
        yield maintain_dag(channel, file, **defaults)
    if can_stop(channel):
        yield controls_dag(channel, file, **defaults)
