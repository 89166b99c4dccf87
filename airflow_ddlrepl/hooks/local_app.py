"""Start the app of a local Spark as a Python process: its session, and so its JVM, begins when it has work for Spark.

`spark-submit` would start a JVM to start the same Python process, whatever the app has to do.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.sdk.exceptions import AirflowException

from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.hooks.forked import Forked, can_fork
from airflow_ddlrepl.hooks.settings import option
from airflow_ddlrepl.hooks.spark_place import SparkPlace
from airflow_ddlrepl.spark.session.secret_file import private_file
from airflow_ddlrepl.spark.session.settings import CONF_FILE, PROPERTIES_FILE, STARTED_BY

END_SECONDS = 5.0

# What spark-submit takes as an argument, by the attribute of SparkSubmitHook, is a Spark property as well.
PROPERTIES = {
    "_name": "spark.app.name",
    "_files": "spark.files",
    "_archives": "spark.archives",
    "_driver_class_path": "spark.driver.extraClassPath",
    "_jars": "spark.jars",
    "_packages": "spark.jars.packages",
    "_exclude_packages": "spark.jars.excludes",
    "_repositories": "spark.jars.repositories",
    "_num_executors": "spark.executor.instances",
    "_total_executor_cores": "spark.cores.max",
    "_executor_cores": "spark.executor.cores",
    "_executor_memory": "spark.executor.memory",
    "_driver_memory": "spark.driver.memory",
}
# Parameters of SparkSubmitOperator, by their attributes, that mean something to spark-submit alone.
ONLY_SUBMIT = {
    "py_files": "py_files",
    "_java_class": "java_class",
    "keytab": "keytab",
    "principal": "principal",
    "proxy_user": "proxy_user",
    "_spark_binary": "spark_binary",
    "_yarn_queue": "yarn_queue",
    "_use_krb5ccache": "use_krb5ccache",
    "_verbose": "verbose",
}
ONLY_SUBMIT_CONF = ("spark.submit.pyFiles", "spark.pyspark.driver.python")


class SparkSubmit(StrEnum):
    """This setting says which apps spark-submit starts: those on a cluster, or always also those of a local Spark."""

    CLUSTER = "cluster"
    ALWAYS = "always"

    @classmethod
    def configured(cls) -> SparkSubmit:
        """Return the setting `[ddlrepl] spark_submit`. Raises ConfigError CFG-406 when it has another value."""
        text = option("spark_submit").lower()
        try:
            return cls(text)
        except ValueError:
            raise ConfigError(
                f"[ddlrepl] spark_submit is {text!r}",
                code="CFG-406",
                hint="set AIRFLOW__DDLREPL__SPARK_SUBMIT to cluster or always",
            ) from None


def reason_for_submit(operator: Any, place: SparkPlace, conf: Mapping[Any, Any]) -> str:
    """Return why spark-submit has to start an operator's app; empty when Python itself can.

    conf: the Spark properties of the operator and of the channel.
    """
    if not place.is_local:
        return f"the master is {place.master}"
    if SparkSubmit.configured() is SparkSubmit.ALWAYS:
        return "[ddlrepl] spark_submit is always"
    if place.submit_extras:
        return f"the Spark connection has {', '.join(place.submit_extras)}"
    if operator._deploy_mode == "cluster" or not str(operator.application).endswith(".py"):
        return "the app is no Python file that runs here"
    names = [name for attribute, name in ONLY_SUBMIT.items() if getattr(operator, attribute)]
    names += [name for name in ONLY_SUBMIT_CONF if conf.get(name)]
    return f"the operator has {', '.join(names)}" if names else ""


class LocalAppHook(SparkSubmitHook):
    """This SparkSubmitHook runs the app as a Python process in a process group of its own.

    Parameters of spark-submit reach the app in a file that only its owner may read, never as arguments.
    """

    def __init__(self, hook: SparkSubmitHook, place: SparkPlace, fresh: bool) -> None:
        """Take the settings of `hook`. fresh: start an interpreter of its own, not a fork of this process."""
        self.__dict__.update(vars(hook))
        self._place, self._fresh = place, fresh

    def submit(self, application: str = "", **kwargs: Any) -> None:
        """Run the app to its end; its lines go to the task's log. Raises AirflowException when it fails."""
        arguments = [str(one) for one in self._application_args or ()]
        self.log.info("app: %s", self._mask_cmd([application, *arguments]))
        with private_file(json.dumps(self._properties()), ".conf") as conf:
            environment = {**self._environment(str(conf)), **(self._env_vars or {})}
            self._submit_sp = self._started(application, arguments, environment)
            self._process_spark_submit_log(iter(self._submit_sp.stdout))
            code = self._submit_sp.wait()
        try:
            if code:
                raise AirflowException(f"the app {application} failed. Error code is: {code}.{self._submit_log_tail}")
        finally:
            self._run_post_submit_commands()

    def _started(self, application: str, arguments: Sequence[str], environment: Mapping[str, str]) -> Any:
        """Start the app in a fork where that is safe: this process has imported already what the app imports."""
        if not self._fresh and can_fork():
            return Forked(application, arguments, environment)
        return subprocess.Popen(
            [sys.executable, application, *arguments],
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )

    def _environment(self, conf: str) -> dict[str, str]:
        return {
            "DDLREPL_SPARK_MASTER": self._place.master,
            "DDLREPL_SPARK_REMOTE": "",
            CONF_FILE: conf,
            PROPERTIES_FILE: self._properties_file or "",
            STARTED_BY: str(os.getpid()),
        }

    def on_kill(self) -> None:
        """End the app and all processes that it has started: its JVM, and the JVM's Python workers."""
        if self._submit_sp is not None and self._submit_sp.poll() is None:
            self.log.info("ending the app, process group %s", self._submit_sp.pid)
            _end(self._submit_sp)
        self._run_post_submit_commands()

    def _properties(self) -> dict[str, str]:
        """Return the Spark properties for the app; parameters win over `conf`, as they do for spark-submit."""
        parameters = {name: getattr(self, attribute) for attribute, name in PROPERTIES.items()}
        properties = {**self._conf, **{name: value for name, value in parameters.items() if value}}
        return {str(name): str(value) for name, value in properties.items() if name != "spark.master"}


def _end(app: Any) -> None:
    """Send SIGTERM to the whole process group, and SIGKILL when it does not end in time."""
    for sent in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(app.pid, sent)
            app.wait(END_SECONDS)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
