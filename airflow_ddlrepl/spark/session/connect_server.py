"""Connect to a running Spark Connect server: no JVM starts here, and a small cycle takes seconds."""

from __future__ import annotations

import importlib.metadata
import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.errors import ConfigError, DdlReplError, Unreachable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PORT = 15002
SECONDS = 10.0
RETRIES = 4  # about five seconds; Spark's own client would wait ten minutes for a server that is gone


def connect(url: str) -> SparkSession:
    """Return a new session on the server at sc://host:port/;options.

    Raises ConfigError CFG-408 (no such URL), Unreachable CON-130 (nobody answers, or refuses), DdlReplError SPK-103
    (the server is another Spark).
    """
    require_answer(url)
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.client.retries import DefaultPolicy
    from pyspark.sql.connect.session import SparkSession as Remote

    try:
        spark = Remote.builder.remote(url).create()
        spark.client.set_retry_policies([DefaultPolicy(max_retries=RETRIES)])
        theirs = spark.version
    except PySparkException as error:
        raise _refused(url, error) from None
    except Exception as error:  # gRPC's errors belong to no class that could be named without importing it
        if type(error).__module__.partition(".")[0] != "grpc":
            raise
        raise _refused(url, error) from None
    ours = importlib.metadata.version("pyspark")
    if theirs.split(".")[:2] != ours.split(".")[:2]:
        spark.stop()
        raise DdlReplError(
            f"the Spark Connect server {redact(url)} runs Spark {theirs}, here is {ours}",
            code="SPK-103",
            hint="use the same minor version for both",
        )
    return spark  # type: ignore[return-value]


def require_answer(url: str) -> None:
    """Raise Unreachable CON-130 when nobody listens at a URL of Spark Connect."""
    host, port = _address(url)
    try:
        socket.create_connection((host, port), SECONDS).close()
    except OSError as error:
        raise Unreachable(
            f"no Spark Connect server answers at {host}:{port}: {error.strerror or error}",
            code="CON-130",
            hint="start one there (docs/deployment.md), or correct `spark.remote`, DDLREPL_SPARK_REMOTE or --master",
            retryable=True,
        ) from None


def _address(url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or PORT
    except ValueError:
        host = None
    if not host:
        raise ConfigError(f"{redact(url)} is no URL of a Spark Connect server", code="CFG-408", hint="sc://host:15002")
    return host, port


def _refused(url: str, error: Exception) -> Unreachable:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    detail = next((line for line in lines if line.startswith("details")), lines[0] if lines else type(error).__name__)
    return Unreachable(
        f"the Spark Connect server at {redact(url)} refuses: {redact(detail)}",
        code="CON-130",
        hint="is it a Spark Connect server, and does it want a token (sc://…/;token=…) or use_ssl=true?",
        retryable=True,
    )
