import pandas as pd

from dampen import most_frequent


def test_counts_of_pandas_are_counts():
    votes = pd.DataFrame({"vote": ["tea"] * 90 + ["coffee"] * 30})
    asked = {"categories": ["coffee", "tea", "water"], "epsilon": 1}
    assert most_frequent(votes["vote"].value_counts(), **asked).answer == "tea"
    assert most_frequent(votes.value_counts(), **asked).answer == "tea"
    column = pd.Series(["tea"] * 90, name="count")
    assert most_frequent(column, **asked).answer == "tea"
