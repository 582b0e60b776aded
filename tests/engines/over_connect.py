"""Every application through Spark Connect, in a process of its own: one process has one Spark.

Prints the names of the questions whose answers are not those of memory, and what errors show.
"""

import json
import os
import sys
from typing import Any

from pyspark.sql import SparkSession

from dampen.errors import BudgetError, DataError
from engines import questions, sparks
from engines.accounts import Account, ask_all


def main() -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    questions.SEEDS = range(1)
    questions.TREES = questions.TREES[:1]
    builder = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "1")
    session = builder.getOrCreate()
    try:
        failing = session.range(3).selectExpr(*sparks.SECRET)
        found = {
            "session": type(session).__module__,
            "different": [*different(session)],
            "refused": [shown(ask) for ask in ask_all(failing, Account(refuse=True))],
            "failed": [shown(ask) for ask in ask_all(failing, Account())],
        }
    finally:
        session.stop()
    print(json.dumps(found))


def different(session: Any) -> Any:
    for asked, table in (
        (questions.ABOUT_WINE, questions.wine()),
        ([questions.percentile_of_many], questions.many_wines()),
        (questions.ABOUT_FRIENDS, questions.friends()),
        ([questions.degrees_of_names], questions.named_friends()),
    ):
        frame = session.createDataFrame(table)
        for question in asked:
            if question(frame, {}) != question(table, {}):
                yield question.__name__


def shown(ask: Any) -> str:
    try:
        return f"answered {ask().answer}"
    except (BudgetError, DataError) as error:
        return f"{error} {error.__cause__} {error.__context__}"


if __name__ == "__main__":
    main()
