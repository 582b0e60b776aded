"""A local Spark for tests, where Java and pyspark are there; and why not, where they are not."""

import importlib.util
import logging
import os
import shutil
import sys
from typing import Any

SECRET = [
    "cast(case when id >= 0 then raise_error(concat('secret ', id)) end as int) as pay",
    "cast(id as int) as x",
]
"""Columns of `range` whose query fails as soon as it runs, and then quotes a row."""
PANDAS = "ignore:PySpark does not yet fully support pandas:FutureWarning"


def missing(*modules: str) -> str:
    """What keeps Spark from running here, empty if nothing does."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        return "needs Java 17 or later (apt-get install openjdk-17-jre-headless)"
    for module in ("pyspark", *modules):
        if importlib.util.find_spec(module) is None:
            return f"needs {module} (pip install 'dampen[spark]')"
    return ""


def start(master: str, **settings: str) -> Any:
    """A session whose executors run this Python."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master)
    quiet = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.driver.memory": "1g",
        # Tests end before code that is compiled better, or garbage collected aside, pays for it.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    for name, value in (quiet | settings).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    # Its garbage collector talks at any time, into tests that listen to every log.
    logging.getLogger("py4j").setLevel(logging.INFO)
    session.sparkContext.setLogLevel("OFF")
    return session
