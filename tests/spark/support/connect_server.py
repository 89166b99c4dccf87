"""A Spark Connect server out of the pyspark wheel, as `sbin/start-connect-server.sh` of a full Spark starts it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from airflow_ddlrepl import java
from airflow_ddlrepl.spark.session.class_archive import java_options
from airflow_ddlrepl.spark.session.installation import spark_home

SECONDS = 90
CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"


@dataclass
class ConnectServer:
    """`with` starts and stops it. python: what runs its tasks. environment: what the server has in its own."""

    folder: Path
    conf: Mapping[str, str] = field(default_factory=dict)
    python: str = sys.executable
    environment: Mapping[str, str] = field(default_factory=dict)
    port: int = 0
    master: str = "local[2]"

    @property
    def url(self) -> str:
        return f"sc://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        return (self.folder / "connect.log").read_text(errors="replace")

    def __enter__(self) -> Self:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        with (self.folder / "connect.log").open("wb") as file:
            self._process = subprocess.Popen(self._command(), env=self._environment(), stdout=file, stderr=file)
        deadline = time.monotonic() + SECONDS
        while not self._answers():
            if time.monotonic() > deadline or self._process.poll() is not None:
                self.__exit__()
                raise TimeoutError(self.log[-3000:])
            time.sleep(0.1)
        return self

    def kill(self) -> None:
        """SIGKILL, as when its machine dies."""
        self._process.kill()

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(SECONDS)

    def _command(self) -> list[str]:
        ours = {
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(self.port),
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "640m",
            "spark.driver.extraJavaOptions": java_options(java.home()),
            "spark.ui.enabled": "false",
            **self.conf,
        }
        options = [word for name, value in ours.items() for word in ("--conf", f"{name}={value}")]
        program = f"{spark_home()}/bin/spark-submit"
        return [program, "--master", self.master, "--class", CLASS, *options, "spark-internal"]

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "JAVA_HOME": java.home(),
            "SPARK_HOME": str(spark_home()),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": self.python,
            **self.environment,
        }

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True
