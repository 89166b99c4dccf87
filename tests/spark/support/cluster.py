"""A standalone Spark cluster out of the pyspark wheel: one master, workers with a folder and one core each."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import psutil

from airflow_ddlrepl import java
from airflow_ddlrepl.spark.session.class_archive import java_options
from airflow_ddlrepl.spark.session.installation import spark_home

SECONDS = 60
DAEMON = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"


@dataclass
class Worker:
    """folder: its work directory, where executors run and log."""

    folder: Path
    process: subprocess.Popen[bytes] | None = None

    def family(self) -> list[psutil.Process]:
        """The worker and everything it started: executors, their Python."""
        assert self.process is not None
        head = psutil.Process(self.process.pid)
        return [head, *head.children(recursive=True)]

    def holds(self, port: int) -> bool:
        """Has one of its processes this local port?"""
        return any(c.laddr.port == port for one in self.family() for c in one.net_connections("tcp") if c.laddr)

    def kill(self) -> None:
        """SIGKILL for all of it, as when its machine dies."""
        assert self.process is not None
        family = self.family()
        for one in family:
            one.suspend()  # nobody of them sees another one die
        for one in family:
            one.kill()
        self.process.wait(SECONDS)
        self.process = None


@dataclass
class Cluster:
    """`with` starts and stops it. environment: what its machines have in theirs."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    size: int = 2
    master: str = ""
    workers: list[Worker] = field(default_factory=list)

    def __enter__(self) -> Self:
        try:
            self._master = self._start("master.log", "master.Master", "--port", "0")
            self.master = self._told("master.log", r"Starting Spark master at (spark://\S+)")
            self.workers = [Worker(self.folder / f"worker-{number}") for number in range(self.size)]
            for worker in self.workers:
                self._start_worker(worker)
            self.settle()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            if worker.process is not None:
                worker.kill()
        self._master.kill()
        self._master.wait(SECONDS)

    def settle(self) -> None:
        """Starts the workers that were killed, and returns when the master knows all of them."""
        for worker in self.workers:
            if worker.process is None:
                self._start_worker(worker)
        for worker in self.workers:
            self._told(f"{worker.folder.name}.log", r"Successfully registered with master (\S+)")

    def properties(self) -> dict[str, str]:
        """What a job's configuration says of this cluster: its Python, and that both workers take part."""
        return {
            "spark.pyspark.python": sys.executable,
            "spark.cores.max": str(self.size),
            "spark.default.parallelism": str(self.size),
            "spark.executor.cores": "1",
            "spark.executor.memory": "512m",
            "spark.executor.extraJavaOptions": java_options(java.home()),
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "512m",
            "spark.driver.extraJavaOptions": java_options(java.home()),
        }

    def _start_worker(self, worker: Worker) -> None:
        worker.folder.mkdir(exist_ok=True)
        options = ("-c", "1", "-m", "1g", "-d", str(worker.folder), self.master)
        worker.process = self._start(f"{worker.folder.name}.log", "worker.Worker", *options)

    def _start(self, log: str, program: str, *options: str) -> subprocess.Popen[bytes]:
        home = spark_home()
        command = [f"{home}/bin/spark-class", f"org.apache.spark.deploy.{program}"]
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "JAVA_HOME": java.home(),
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_JAVA_OPTS": DAEMON,
            "SPARK_DAEMON_MEMORY": "256m",
            **self.environment,
        }
        with (self.folder / log).open("wb") as file:
            return subprocess.Popen(
                [*command, "--host", "127.0.0.1", "--webui-port", "0", *options],
                env=environment,
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    def _told(self, log: str, pattern: str) -> str:
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            text = (self.folder / log).read_text(errors="replace")
            if found := re.search(pattern, text):
                return found[1]
            time.sleep(0.05)
        raise TimeoutError(f"{log} never said {pattern}: {text[-2000:]}")
