"""Which Spark does the work, and the options that make a small local one start quickly. Imports no pyspark."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_ddlrepl import java
from airflow_ddlrepl.config.environment import expand
from airflow_ddlrepl.spark.quickstart import java_options

if TYPE_CHECKING:
    from airflow_ddlrepl.config.channel import Channel

LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "640m",
}

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
    """Where Spark runs.

    master: a Spark master; empty: what spark-submit says, else all cores of this machine.
    remote: URL of a running Spark Connect server (sc://…), which wins over master.
    conf: Spark properties of the user; they win over ours.
    """

    master: str = ""
    remote: str = field(default="", repr=False)
    conf: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def from_environment(cls) -> SparkSettings:
        """DDLREPL_SPARK_MASTER and DDLREPL_SPARK_REMOTE."""
        return cls(os.environ.get("DDLREPL_SPARK_MASTER", ""), os.environ.get("DDLREPL_SPARK_REMOTE", ""))

    @classmethod
    def of(cls, channel: Channel) -> SparkSettings:
        """What the channel file says under `spark`; the environment (above) wins over it."""
        said, here = channel.spark, cls.from_environment()
        return cls(here.master or said.master, here.remote or expand(said.remote or ""), dict(said.conf))

    @property
    def effective_master(self) -> str:
        return self.master or "local[*]"

    @property
    def parallelism(self) -> int:
        """Cores of a local master; 2 where only the cluster knows (the started session tells the truth)."""
        if self.remote or not is_local(self.effective_master):
            return 2
        cores = self.effective_master.removeprefix("local").strip("[]").partition(",")[0]
        if cores == "*":
            return len(os.sched_getaffinity(0))
        return int(cores) if cores.isdigit() else 1

    def properties(self) -> dict[str, str]:
        """All Spark properties for the master, ours first, the user's on top."""
        return {**ALWAYS, **(local_properties() if is_local(self.effective_master) else {}), **self.conf}


def is_local(master: str) -> bool:
    return master.startswith("local")


def local_properties() -> dict[str, str]:
    """What only a Spark on this machine gets: it starts quickly, runs this very Python, nothing listens outside.

    Raises ConfigError CFG-401 when there is no Java 17+.
    """
    return {
        **LOCAL,
        "spark.driver.extraJavaOptions": java_options(java.home()),
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
    }
