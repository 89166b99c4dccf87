"""Drivers in processes of their own write lakes by the warm Java of the process of tests: one that dies leaves it.

Java of its own costs each run a minute of two cores. What a driver has asked of Java when it dies may still be done
there, as the Java of a driver that is killed does it for a while.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from airflow_ddlrepl.ports.work import offer_session
from tests.support.lakes.warm_spark import warm_runner

PORT, SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"
Gateway = dict[str, str]


def warm_gateway() -> Gateway:
    """How other processes reach the Java of this one, which starts where it has not; nothing: no test here has one."""
    if not warm_runner.cache_info().currsize:
        return {}
    gateway: Any = warm_runner()._started().sparkContext._gateway
    parameters = gateway.gateway_parameters
    return {PORT: str(parameters.port), SECRET: parameters.auth_token}


def borrow(gateway: Gateway) -> None:
    """Have engines in this process write by that Java."""
    if gateway:
        offer_session(cache(lambda: _session(gateway)))


def _session(gateway: Gateway) -> Any:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    with _reached(gateway):
        SparkContext._ensure_initialized()
    java: Any = SparkContext._jvm
    there = java.org.apache.spark.sql.classic.SparkSession.getDefaultSession().get()
    context = java.JavaSparkContext(there.sparkContext())
    ours = SparkContext(gateway=SparkContext._gateway, jsc=context, conf=SparkConf(_jconf=there.sparkContext().conf()))
    return SparkSession(ours, there.newSession())


@contextmanager
def _reached(gateway: Gateway) -> Iterator[None]:
    os.environ |= gateway
    try:
        yield
    finally:
        for name in gateway:
            del os.environ[name]
