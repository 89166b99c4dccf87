"""Decide where Spark runs, and set the options that let a small local one start quickly. Imports no pyspark."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from airflow_ddlrepl import java
from airflow_ddlrepl.config.sections.location import resolve
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.notation.environment import expand
from airflow_ddlrepl.spark.session.class_archive import JARS, OPTIONS, by_class_path, java_options, listed

if TYPE_CHECKING:
    from airflow_ddlrepl.config.sections.channel import Channel

CONNECT = "sc://"
PYTHON = "spark.pyspark.python"
DAEMON = "spark.python.daemon.module"
WORKER_DAEMON = "airflow_ddlrepl.spark.execute.worker_daemon"
CONF_FILE = "DDLREPL_SPARK_CONF_FILE"
"""Variable: file with the Spark properties of who started this process, as JSON; they win over a channel's."""

PROPERTIES_FILE = "DDLREPL_SPARK_PROPERTIES_FILE"
"""Variable: properties file of Spark's, instead of spark-defaults.conf."""

STARTED_BY = "DDLREPL_STARTED_BY"
"""Variable: id of the process that waits for this one."""

LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "640m",
}

LISTS = (JARS, "spark.sql.extensions")
"""Properties that have several values: an engine's and the user's are together."""

# Nothing here costs a cluster anything; a user's own conf wins over all of it.
ALWAYS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "WARN",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.artifact.isolation.enabled": "false",
}


@dataclass(frozen=True)
class SparkSettings:
    """Spark settings say where Spark runs, and with which properties.

    master: a Spark master; empty: what spark-submit says, else all cores of this machine.
    remote: URL of a running Spark Connect server (sc://…), which wins over master.
    conf: Spark properties of the user; they win over ours.
    targets: the locations of the targets whose engines have a say in how the session is started.
    """

    master: str = ""
    remote: str = field(default="", repr=False)
    conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    targets: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def at(cls, place: str, conf: Mapping[str, str] = MappingProxyType({})) -> SparkSettings:
        """Return settings for a Spark master, or for the sc:// URL of a Spark Connect server."""
        return cls(remote=place, conf=conf) if place.startswith(CONNECT) else cls(place, conf=conf)

    @classmethod
    def from_environment(cls) -> SparkSettings:
        """Return the settings in DDLREPL_SPARK_REMOTE or DDLREPL_SPARK_MASTER."""
        return cls.at(_place_of_environment())

    @classmethod
    def of(cls, channel: Channel, place: str = "") -> SparkSettings:
        """Return the settings for the place, else for the environment's, else for the channel's `spark`."""
        of_channel = expand(channel.spark.remote or channel.spark.master)
        found = cls.at(place or _place_of_environment() or of_channel, {**channel.spark.conf, **_conf_of_environment()})
        return replace(found, targets=tuple(target.location for target in channel.targets_and_replays))

    @property
    def effective_master(self) -> str:
        """Return the master, by default all cores of this machine."""
        return self.master or "local[*]"

    @property
    def parallelism(self) -> int:
        """Return how many tasks will run at once.

        Of a local master: its cores. Of a cluster: spark.default.parallelism, or what the properties request; else 2.
        The started session has the true number.
        """
        if self.remote or not is_local(self.effective_master):
            return _requested_parallelism(self.conf)
        cores = self.effective_master.removeprefix("local").strip("[]").partition(",")[0]
        if cores == "*":
            return len(os.sched_getaffinity(0))
        return int(cores) if cores.isdigit() else 1

    def properties(self) -> dict[str, str]:
        """Return all Spark properties for the master, ours overridden by the user's."""
        if not is_local(self.effective_master):
            return {**ALWAYS, **self.with_engines()}
        local = local_properties()
        if self.conf.get(PYTHON, sys.executable) != sys.executable:
            local.pop(DAEMON, None)  # that Python may not have it
        found = {**ALWAYS, **local, **self.with_engines()}
        return found if has_users_options() else by_class_path(found)

    def with_engines(self) -> dict[str, str]:
        """Return the user's properties, and what the targets' engines need. Raises ConfigError."""
        needed = self.of_engines()
        return {**needed, **{name: joined(name, needed.get(name, ""), value) for name, value in self.conf.items()}}

    def of_engines(self) -> dict[str, str]:
        """Return what the targets' engines need of a session. Raises ConfigError."""
        from airflow_ddlrepl.engines import engine

        needed: dict[str, str] = {}
        for location in self.targets:
            try:
                resolved = resolve(location)
            except ConfigError:
                continue  # it is told where the target is asked
            wished = engine(resolved).spark_properties(resolved)
            needed |= {name: joined(name, needed.get(name, ""), value) for name, value in wished.items()}
        return needed


def joined(name: str, before: str, more: str) -> str:
    """Return the value of a property that has one already: the later one wins, of lists all parts stay."""
    if name not in LISTS:
        return more
    return ",".join(dict.fromkeys((*listed(before), *listed(more))))


def _place_of_environment() -> str:
    return os.environ.get("DDLREPL_SPARK_REMOTE") or os.environ.get("DDLREPL_SPARK_MASTER", "")


def has_users_options() -> bool:
    """Return whether a user's options reach spark-submit beside ours: they may have what ours depend on, too."""
    return bool(os.environ.get(PROPERTIES_FILE) or os.environ.get("PYSPARK_SUBMIT_ARGS"))


def _conf_of_environment() -> dict[str, str]:
    """Return the Spark properties of the operator that has started this process, if one has."""
    file = os.environ.get(CONF_FILE)
    return dict(json.loads(Path(file).read_text(encoding="utf-8"))) if file else {}


def _requested_parallelism(conf: Mapping[str, str]) -> int:
    executors = _number(conf, "spark.executor.instances", 0) * _number(conf, "spark.executor.cores", 1)
    return _number(conf, "spark.default.parallelism", 0) or _number(conf, "spark.cores.max", 0) or executors or 2


def _number(conf: Mapping[str, str], name: str, default: int) -> int:
    text = conf.get(name, "").strip() or str(default)
    if not text.isdecimal():
        raise ConfigError(f"spark.conf: {name} is {text!r}", code="CFG-405", hint="write a whole number")
    return int(text)


def is_local(master: str) -> bool:
    """Return whether the master is this machine."""
    return master.startswith("local")


def local_properties() -> dict[str, str]:
    """Return the properties for a Spark on this machine: it starts quickly, runs this Python, opens no outside port.

    Raises ConfigError CFG-401 when there is no Java 17+.
    """
    return {
        **LOCAL,
        OPTIONS: java_options(java.home()),
        PYTHON: sys.executable,
        "spark.pyspark.driver.python": sys.executable,
        DAEMON: WORKER_DAEMON,
    }
