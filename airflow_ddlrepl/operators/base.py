"""This module defines the operator that all stages share: look for work, run the Spark app, return what it did."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import files
from typing import Any, ClassVar

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import BaseOperatorLink, Context
from airflow.sdk.exceptions import AirflowException, AirflowSkipException

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.engines import engines
from airflow_ddlrepl.errors import ConfigError, DdlReplError, DriverMissing, LockHeld
from airflow_ddlrepl.flow.stages import Stage
from airflow_ddlrepl.hooks.after_stage import reported
from airflow_ddlrepl.hooks.app_lines import AppLines
from airflow_ddlrepl.hooks.connections import connections_file
from airflow_ddlrepl.hooks.local_app import LocalAppHook, reason_for_submit
from airflow_ddlrepl.hooks.settings import option, result_folder
from airflow_ddlrepl.hooks.spark_place import SparkPlace, merged, spark_place
from airflow_ddlrepl.hooks.turn import IN_WORKER_SECONDS, await_turn, later
from airflow_ddlrepl.operators.links import ChannelStatusLink, DdlHistoryLink, SparkUiLink
from airflow_ddlrepl.operators.messages.failure import failed, log_lines, nothing_to_do, push_last_status
from airflow_ddlrepl.operators.messages.markdown import dag_id
from airflow_ddlrepl.ports.work import Runner
from airflow_ddlrepl.spark.execute.runner import SparkRunner
from airflow_ddlrepl.spark.jobs.result_file import Outcome
from airflow_ddlrepl.spark.session.class_archive import JARS
from airflow_ddlrepl.spark.session.secret_file import properties_file
from airflow_ddlrepl.spark.session.settings import LISTS, SparkSettings, joined
from airflow_ddlrepl.visible import one_line


def is_backfill(context: Context) -> bool:
    """Return whether the run belongs to a backfill."""
    run = context.get("dag_run")
    return run is not None and run.run_type == "backfill"


class DdlReplSparkOperator(SparkSubmitOperator):
    """Run one stage of a channel as a Spark app and return what it did (XCom, JSON).

    With a local master the app is a Python process, else spark-submit starts it (`[ddlrepl] spark_submit`); with a
    Spark Connect server the stage runs in the task. A stage with nothing to do starts no app. A failure that a person
    has to repair (a control, a refusal, a broken channel file) fails the task for good, with its reason in the log and
    in the XCom `ddlrepl_error`; a failure that may pass (an unreachable server) is left to Airflow's
    retries. While another run works on the channel the task waits for its turn, and keeps its retries.

    :param channel: path of the channel file. (templated)
    :param conn_id: connection of a Spark cluster or a Spark Connect server; None: `[ddlrepl] spark_conn_id`, and
        without one Spark runs where environment or channel file say, else on this worker.

    All parameters of SparkSubmitOperator hold; `conf` and `env_vars` win over ours, jars are beside a target's.
    """

    runs: ClassVar[Stage | None] = None
    """The stage that it runs: name, app, and what else is said of it here. A class of yours may say otherwise."""

    stage: ClassVar[str] = ""
    app: ClassVar[str] = ""
    is_live: ClassVar[bool] = True
    """Does it move the channel's targets? Then a backfill, which is about the past, skips it."""
    moves_rows: ClassVar[bool] = False
    """Does it bring rows of the source to the targets? Then OpenLineage is told which tables' and columns'."""

    always_runs: ClassVar[bool] = False
    """Somebody wants it done: it is not looked whether there is anything to do."""

    turn_seconds: ClassVar[float] = IN_WORKER_SECONDS
    """How long it waits in its worker for another run of the channel, before Airflow starts it again later."""

    takes_turns: ClassVar[bool] = True
    """Does it lock the channel? A stage that only looks waits for nobody."""

    template_fields: Sequence[str] = ("channel", *SparkSubmitOperator.template_fields)
    ui_color = "#d6eaf2"
    operator_extra_links: Sequence[BaseOperatorLink] = (ChannelStatusLink(), DdlHistoryLink(), SparkUiLink())

    def __init_subclass__(cls, **more: Any) -> None:
        """Take over from the table of stages what the class does not say itself."""
        super().__init_subclass__(**more)
        if (stage := vars(cls).get("runs")) is not None:
            for name, value in _of_stage(stage).items():
                if name not in vars(cls):
                    setattr(cls, name, value)

    _conn_id: str
    _spark_binary: str | None
    conf: dict[Any, Any] | None
    jars: str | None
    env_vars: dict[str, Any] | None
    properties_file: str | None
    _is_submitted: bool = True
    _has_worked: bool = False
    _place: SparkPlace

    def __init__(self, *, channel: str, conn_id: str | None = None, **kwargs: Any) -> None:
        kwargs.setdefault("application", app_path(self.app))
        kwargs.setdefault("name", f"ddlrepl {self.stage}")
        super().__init__(conn_id=conn_id or "", **kwargs)
        self.channel = channel

    def execute(self, context: Context) -> dict[str, Any]:  # type: ignore[override]
        """Run the stage; a task that fails has the reason in its log and its XCom."""
        try:
            channel = load_channel(self.channel)
            if self.is_live and is_backfill(context):
                _skip_backfill(channel)
            with connections_file(channel), reported(channel, self.channel, self.stage, context) as result:
                result.update(self._run(channel, context))
                self.finish(channel, context)
                return result
        except LockHeld as held:
            raise later(held, context) from None
        except DdlReplError as error:
            push_last_status(self.channel, context, error)
            raise failed(self.stage, error, context) from None

    def _run(self, channel: Channel, context: Context) -> dict[str, Any]:
        if not self.always_runs and not self._do_here(channel, str(context["run_id"])):
            self.log.info("%s: nothing to do, Spark was not started", self.stage)
            return nothing_to_do(self.stage, channel.name)
        if self.takes_turns:
            _await_turn(channel, self.turn_seconds)
        place = spark_place(self._conn_id or option("spark_conn_id"), SparkSettings.of(channel))
        run = self._run_in_process if place.remote else self._run_app
        outcome = run(place, channel, context)
        if outcome is None:
            self.log.warning("the app left no result that this worker can read; its own log says what it did")
            return {"stage": self.stage, "channel": channel.name, "worked": True}
        if outcome.error is not None:
            raise outcome.error
        self._has_worked = True
        for line in log_lines(outcome):
            self.log.info("%s", one_line(line))
        return {"stage": self.stage, "channel": outcome.channel, "worked": True, **outcome.summary}

    def _do_here(self, channel: Channel, run_id: str) -> bool:
        """Do what needs no app; return whether the app has more to do, as it may where there is no driver here."""
        from airflow_ddlrepl import flow

        try:
            return bool(flow.do_here(channel, self.stage, run_id, _part(self)))
        except (ModuleNotFoundError, DriverMissing) as missing:
            if is_driver(missing):
                return True
            raise

    def finish(self, channel: Channel, context: Context) -> None:
        """Leave more in Airflow after the stage, also when there was nothing to do; the base class leaves nothing."""

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:
        """Return to OpenLineage, where its provider is installed, which tables got rows of which; None: none did."""
        if not self.moves_rows or not self._has_worked:
            return None
        from airflow_ddlrepl.hooks.openlineage_datasets import operator_lineage

        return operator_lineage(load_channel(self.channel))

    def arguments(self) -> list[str]:
        """Return the app's arguments besides channel, run and result."""
        if self.runs is None:
            return []
        options = [self.runs.app_option] if self.runs.app_option else []
        return options + [word for one in self.runs.arguments for word in one.words(one.value(getattr(self, one.name)))]

    def job(self, channel: Channel, run_id: str, runner: Runner) -> dict[str, Any]:
        """Run the stage in this process and return its summary, as the app would."""
        from airflow_ddlrepl.spark.jobs.run_stage import run_stage

        arguments = self.runs.arguments if self.runs is not None else ()
        given = {one.name: one.value(getattr(self, one.name)) for one in arguments}
        return run_stage(self.stage, channel, run_id, runner, **given)

    def _run_in_process(self, place: SparkPlace, channel: Channel, context: Context) -> Outcome:
        """Run the stage in this process; its tasks run on the Spark Connect server."""
        self.log.info("%s of channel %s runs on %s", self.stage, channel.name, redact(place.remote))
        run_id, start = str(context["run_id"]), time.monotonic()
        runner = SparkRunner(SparkSettings.of(channel, place.remote), f"ddlrepl {channel.name}")
        try:
            summary = self.job(channel, run_id, runner)
        finally:
            runner.stop()
        return Outcome(self.stage, channel.name, run_id, time.monotonic() - start, summary)

    def _run_app(self, place: SparkPlace, channel: Channel, context: Context) -> Outcome | None:
        """Run the app, then read and remove its result file. An app that failed without a result raises."""
        result = result_folder() / f"ddlrepl-{channel.name}-{self.stage}-{uuid.uuid4().hex}.json"
        run_id = str(context["run_id"])
        # One word each: what a person typed into a form can't be taken for an option of its own.
        arguments = [*self.arguments(), f"--channel={self.channel}", f"--run={run_id}", f"--result={result}"]
        is_elsewhere = self._deploy_mode == "cluster" or "deploy-mode" in place.submit_extras
        if self.application == app_path(self.app) and not is_elsewhere:
            arguments.append("--reported")  # an app of the user's own has the arguments that it always had
        reason = reason_for_submit(self, place, {**channel.spark.conf, **(self.conf or {})})
        how = f"by spark-submit: {reason}" if reason else "as a Python process"
        self.log.info("%s of channel %s runs on %s, %s", self.stage, channel.name, place.master, how)
        given = self._conn_id
        self._conn_id, self._hook, self.application_args = place.conn_id, None, arguments
        self._is_submitted, self._place = bool(reason), place
        try:
            with self._prepared(place, channel):
                super().execute(context)
        except AirflowException:
            if (left := Outcome.read(result)) is None or left.error is None:
                raise  # else the result says more than spark-submit's exit code
        finally:
            self._conn_id = given
            outcome = Outcome.read(result)
            result.unlink(missing_ok=True)
        return outcome

    @contextmanager
    def _prepared(self, place: SparkPlace, channel: Channel) -> Iterator[None]:
        """Set the parameters of SparkSubmitOperator as its hook needs them.

        The app reads the channel's `conf` itself.
        """
        if not self._is_submitted:
            yield
            return
        environment = {**os.environ, **place.environment(), **(self.env_vars or {})}
        needed = SparkSettings.of(channel).with_engines()
        with properties_file(needed, self.properties_file, environment) as properties:
            ours = {name: value for name, value in place.properties().items() if name not in needed}
            self._spark_binary = self._spark_binary or place.binary
            self.conf = {**ours, **_with_lists(needed, self.conf or {})}
            self.jars = _with_lists(needed, {JARS: self.jars})[JARS]
            self.env_vars = merged(place.environment(), self.env_vars) or None
            self.properties_file = properties
            yield

    def _get_hook(self) -> SparkSubmitHook:
        hook = super()._get_hook()
        if not self._is_submitted:
            is_own = bool(self.env_vars) or self.application != app_path(self.app)
            hook = LocalAppHook(hook, self._place, fresh=is_own)
        hook._log = AppLines(hook.log)
        return hook


def _with_lists(needed: Mapping[str, str], users: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the user's properties; those with several values have what an engine or the channel file needs, too."""
    return {**users, **{name: joined(name, needed.get(name, ""), users[name]) for name in LISTS if users.get(name)}}


def _of_stage(stage: Stage) -> dict[str, Any]:
    """Return what the table says of a stage, by the attributes of its operator."""
    return {
        "stage": stage.name,
        "app": stage.app,
        "is_live": stage.moves_targets,
        "moves_rows": stage.moves_rows,
        "always_runs": not stage.has_work,
        "takes_turns": stage.takes_turns,
    }


def _await_turn(channel: Channel, seconds: float) -> None:
    """Wait while another run works on the channel; a worker without database driver lets the app wait."""
    try:
        await_turn(channel, seconds)
    except (ModuleNotFoundError, DriverMissing) as missing:
        if not is_driver(missing):
            raise


def _skip_backfill(channel: Channel) -> None:
    """Skip the task in a backfill, and say where a backfill belongs. Raises ConfigError CFG-133: nowhere."""
    if not channel.replays:
        raise ConfigError(
            f"channel {channel.name} has no replay, and a backfill goes only into a replay",
            code="CFG-133",
            hint="name another database under `replays` in the channel file, and set `rewind_horizon`",
        )
    raise AirflowSkipException(
        "a backfill is about the past, and this task brings the targets up to now. Create the backfill for the DAG"
        f" {dag_id(channel.name, 'replay')}, or use ReplayOperator: it replays the intervals in another place"
    )


def _part(operator: DdlReplSparkOperator) -> str:
    """Return the client of Streams, or its target, that a task is about alone; empty: it is about all."""
    part = operator.runs.part if operator.runs is not None else ""
    return str(getattr(operator, part)) if part else ""


def is_driver(missing: ModuleNotFoundError | DriverMissing) -> bool:
    """Return whether what is missing is a database driver, which the app may find where it runs."""
    drivers = {module for one in engines() for module in one.drivers}
    return isinstance(missing, DriverMissing) or (missing.name or "").partition(".")[0] in drivers


def app_path(name: str) -> str:
    """Return the path of one of our Spark apps."""
    return str(files("airflow_ddlrepl.spark_apps") / f"{name}.py")
