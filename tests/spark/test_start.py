"""What a process imports until its own Spark is up."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
from airflow_ddlrepl.spark.execute.runner import SparkRunner
from airflow_ddlrepl.spark.session.settings import SparkSettings

runner = SparkRunner(SparkSettings("local[1]"))
runner.map(abs, [1, 2], "work")
print([name for name in ("pyspark.testing", "unittest", "pandas") if name in sys.modules])
import numpy

print(runner._session._jvm.java.util.Arrays.toString(numpy.array([1, 2])))
print(runner._session._jvm.java.lang.Math.abs(numpy.int64(-3)))
print(runner._session._jvm.java.util.ArrayList([1, 2]).toString())
runner.stop()
"""


@pytest.mark.xdist_group("spark")
def test_the_start_of_spark_imports_no_tests_and_values_of_numpy_go_to_java_as_ever() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.splitlines() == ["[]", "[1, 2]", "3", "[1, 2]"]
