"""Every command on files: answers, and one clear line for every kind of bad input."""

import gzip
import json
import shutil
from pathlib import Path

import pytest

from dampen.ledger import Ledger

TOP_K = ("top-k", "follows.csv.gz", "-k", "3", "--epsilon", "2", "--n", "40")
RECORD = ("percentile-record", "salaries.csv", "--value", "salary", "-p", "95", "--upper",
          "500000", "--epsilon", "2")  # fmt: skip
PERCENTILE = ("percentile", *RECORD[1:], "--step", "1000")
FREQUENT = ("most-frequent", "visits.csv", "--value", "diagnosis", "--categories", "flu,cold",
            "--epsilon", "1")  # fmt: skip
GROUPS = ("top-groups", "stays.csv", "--value", "days", "--by", "hospital", "--groups", "H1,H2,H3",
          "--lower", "0", "--upper", "100", "--step", "1", "--epsilon", "1")  # fmt: skip
TREE = ("tree", "census.csv", "--target", "income", "--schema", "census.toml", "--epsilon", "1")
BAYES = ("naive-bayes", *TREE[1:])
COMPARE = ("compare", "top-k", "follows.csv.gz", "--n", "40", "-k", "2", "--epsilon", "1",
           "--tries", "2", "--public")  # fmt: skip
COMPARE_TABLE = ("compare", "percentile", "salaries.csv", "--value", "salary", "-p", "50",
                 "--upper", "9e5", "--step", "1000", "--epsilon", "1,9", "--tries", "40",
                 "--public")  # fmt: skip
COMPARE_GROUPS = ("compare", "top-groups", "stays.csv", "--value", "days", "--by", "hospital",
                  "--groups", "H1,H2", "--lower", "0", "--upper", "100", "--step", "5", "--epsilon",
                  "1", "--tries", "8", "--public")  # fmt: skip
DRAFT = ("draft", "census.csv", "--look")
RELEASES = {
    "top-k": (TOP_K, "add-remove-edge"),
    "percentile": (PERCENTILE, "add-remove-row"),
    "percentile-record": (RECORD, "replace-one"),
    "most-frequent": (FREQUENT, "add-remove-row"),
    "top-groups": (GROUPS, "add-remove-row"),
    "tree": (TREE, "add-remove-row"),
    "naive-bayes": (BAYES, "add-remove-row"),
}
RECORDED = {
    "top-k": "top-k k=3 by betweenness",
    "percentile": "percentile p=95 of salary",
    "percentile-record": "percentile-record p=95, k=1 of salary",
    "most-frequent": "most-frequent k=1 of diagnosis",
    "top-groups": "top-groups median of days by hospital",
    "tree": "tree for income",
    "naive-bayes": "naive-bayes for income",
}
EVERY = [
    TOP_K, PERCENTILE, RECORD, FREQUENT, GROUPS, TREE, BAYES, COMPARE, COMPARE_TABLE,
    COMPARE_GROUPS, DRAFT,
]  # fmt: skip


def replaced(command: tuple[str, ...], option: str, value: str) -> list[str]:
    """The command with another value of an option."""
    place = command.index(option) + 1
    return [*command[:place], value, *command[place + 1 :]]


def refused(outcome, message: str, code: int = 2) -> None:
    assert (outcome.code, outcome.out) == (code, "")
    assert message in outcome.err
    assert outcome.err.count("\n") == 1, outcome.err


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_is_charged_and_shown(dampen, place: Path, name: str) -> None:
    command, relation = RELEASES[name]
    dampen("budget", "create", "b", "--epsilon", "5", "--neighbours", relation)
    done = dampen(*command, "--budget", "b")
    assert (done.code, done.err) == (0, "")
    assert "of 5 left" in done.out
    (charge,) = Ledger(place / "ledger.sqlite3").history("b")
    assert (charge.neighbours, charge.dataset) == (relation, command[1])
    assert charge.query == RECORDED[name]


@pytest.mark.parametrize("command", [TOP_K, PERCENTILE, FREQUENT, GROUPS, TREE], ids=lambda c: c[0])
def test_releases_as_json(dampen, command: tuple[str, ...]) -> None:
    done = dampen(*command, "--json")
    assert (done.code, done.err) == (0, "")
    assert done.out.count("\n") == 1
    json.loads(done.out)


@pytest.mark.parametrize("command", EVERY, ids=lambda c: " ".join(c[:2]))
@pytest.mark.parametrize("kind", ["missing", "empty", "binary", "directory"])
def test_bad_files(dampen, place: Path, command: tuple[str, ...], kind: str) -> None:
    broken = list(command)
    broken[1] = "broken"
    if kind == "directory":
        (place / "broken").mkdir()
    elif kind != "missing":
        content = {"empty": b"", "binary": bytes(range(256)) * 300}[kind]
        (place / "broken").write_bytes(content)
    if command[0] in RELEASES:
        dampen("budget", "create", "b", "--epsilon", "9", "--neighbours", RELEASES[command[0]][1])
        broken += ["--budget", "b"]
    if (command, kind) == (TOP_K, "empty"):  # no edges are a legal neighbour of one edge
        assert dampen(*broken).code == 0
        return
    refused(dampen(*broken), "broken")
    if command[0] in RELEASES:
        assert Ledger(place / "ledger.sqlite3").spent("b") == 0


@pytest.mark.parametrize("content", [None, b"", bytes(range(256)) * 300])
def test_bad_files_besides_the_data(dampen, place: Path, content: bytes | None) -> None:
    dampen(*TREE, "-o", "tree.json")
    if content is not None:
        (place / "broken").write_bytes(content)
    refused(dampen("predict", "tree.json", "broken"), "broken")
    refused(dampen("predict", "broken", "new.csv"), "broken")
    refused(dampen(*replaced(TREE, "--schema", "broken")), "broken")
    refused(dampen("verify", "broken"), "broken")
    if content != b"":  # an empty list of nodes or categories is refused for its own reason
        refused(dampen(*TOP_K[:-2], "--nodes-file", "broken"), "broken")
        refused(dampen(*FREQUENT[:4], "--categories-file", "broken", "--epsilon", "1"), "broken")


@pytest.mark.parametrize("name", RELEASES)
@pytest.mark.parametrize("epsilon", ["abc", "0", "-1", "nan", "inf"])
def test_bad_epsilon(dampen, name: str, epsilon: str) -> None:
    refused(dampen(*replaced(RELEASES[name][0], "--epsilon", epsilon)), "epsilon")


@pytest.mark.parametrize("name", sorted(RELEASES.keys() - {"top-groups", "tree", "naive-bayes"}))
def test_unknown_mechanism_and_budget(dampen, place: Path, name: str) -> None:
    command, relation = RELEASES[name]
    dampen("budget", "create", "other", "--epsilon", "9", "--neighbours", relation)
    refused(dampen(*command, "--mechanism", "sdl", "--budget", "other"), "Did you mean")
    refused(dampen(*command, "--budget", "b"), "no budget 'b'")
    assert Ledger(place / "ledger.sqlite3").spent("other") == 0


WRONG_WORDS = [
    ([*replaced(PERCENTILE, "--value", "salry"), "--header"], "Did you mean 'salary'"),
    (replaced(PERCENTILE, "--value", "salry"), "If its first line is a header, pass --header"),
    ([*RECORD, "--labels", "name"], "Expected a column 'name'"),
    (replaced(PERCENTILE, "-p", "101"), "from 0 to 100"),
    (replaced(RECORD, "-p", "50,90"), "from 0 to 100"),
    ([*RECORD, "--mechanism", "joint"], "'joint'"),
    ([*PERCENTILE[:-2], "--mechanism", "ld"], "answer without a grid"),
    (replaced(PERCENTILE, "-p", "x"), "from 0 to 100"),
    (replaced(PERCENTILE, "--upper", "x"), "upper"),
    (replaced(PERCENTILE, "--upper", "-5"), "lower < upper"),
    (replaced(PERCENTILE, "--upper", "inf"), "finite"),
    ([*replaced(FREQUENT, "--value", "diagnose"), "--header"], "Did you mean 'diagnosis'"),
    (replaced(FREQUENT, "--categories", "flu,flu"), "some occur twice"),
    ([*FREQUENT, "--categories-file", "x"], "either --categories or"),
    ([*FREQUENT, "-k", "3"], "k <= 2, the number of candidates, got k=3"),
    (replaced(TOP_K, "-k", "0"), "k to be an integer >= 1"),
    (replaced(TOP_K, "-k", "41"), "k <= 40"),
    (replaced(TOP_K, "--n", "-1"), "at least one node"),
    ([*TOP_K, "--metric", "closeness"], "one of betweenness, degree"),
    ([*TOP_K, "--source", "source"], "both --source and --target"),
    ([*TOP_K, "--source", "sorce", "--target", "target"], "Expected a column 'sorce'"),
    ([*TOP_K, "--nodes-file", "none.txt"], "none.txt"),
    ([*replaced(TREE, "--target", "incme"), "--header"], "Did you mean 'income'"),
    (replaced(TREE, "--target", "age"), "has no public list of values"),
    (replaced(TREE, "--schema", "none.toml"), "Cannot read none.toml"),
    (replaced(TREE, "--schema", "census.csv"), "not valid TOML"),
    ([*TREE, "--max-depth", "-1"], "Expected max_depth"),
    ([*TREE, "-o", "nowhere/tree.json"], "Cannot write"),
    (["predict", "none.json", "new.csv"], "Cannot read none.json"),
    (["predict", "census.csv", "new.csv"], "Expected a model"),
    (COMPARE[:-1], "Expected --public"),
    (replaced(COMPARE, "--epsilon", "1,x"), "got epsilon='x'"),
    (replaced(COMPARE, "-k", "99"), "k <= 40"),
    ([*replaced(COMPARE_TABLE, "--value", "salry"), "--header"], "Did you mean 'salary'"),
    ([*DRAFT, "-o", "nowhere/s.toml"], "Cannot write"),
    (["check", "census.csv"], "`dampen draft census.csv` writes a first one"),
    (["check", "census.csv", "--schema", "none.toml"], "Cannot read none.toml"),
]


@pytest.mark.parametrize(
    ("command", "message"), WRONG_WORDS, ids=[f"{c[0]} {m}" for c, m in WRONG_WORDS]
)
def test_wrong_words_cost_nothing(dampen, place: Path, command: list[str], message: str) -> None:
    relation = RELEASES.get(command[0], ("", "replace-one"))[1]
    dampen("budget", "create", "b", "--epsilon", "9", "--neighbours", relation)
    paying = ["--budget", "b"] if command[0] in RELEASES else []
    refused(dampen(*command, *paying), message)
    assert Ledger(place / "ledger.sqlite3").spent("b") == 0


def spoil(path: Path, line: str) -> None:
    content = path.read_bytes()
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(gzip.decompress(content) + line.encode()))
    else:
        path.write_bytes(content + line.encode())


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (TOP_K, "SECRET,1\n"),
        (PERCENTILE, "E9999,SECRET\n"),
        (PERCENTILE, "E9999,\n"),
        (PERCENTILE, "SECRET\n"),
        ((*RECORD, "--labels", "employee"), "E1,5\n"),
        (FREQUENT, "SECRET,1\n"),
        (TREE, "SECRET,Private,>50K\n"),
        (TREE, ",Private,>50K\n"),
        (TREE, "20,SECRET,>50K\n"),
        (TREE, "20,Private,SECRET\n"),
        (TREE, "20\n"),
        (TREE, "20,Private,>50K\n" * 200),
    ],
)
def test_bad_rows_are_answered(dampen, place: Path, command: tuple[str, ...], line: str) -> None:
    """Whatever a row says, the release is charged, printed and as silent as without the row."""
    dampen("budget", "create", "b", "--epsilon", "9", "--neighbours", RELEASES[command[0]][1])
    good = dampen(*command, "--budget", "b")
    spoil(place / command[1], line)
    bad = dampen(*command, "--budget", "b")
    assert (bad.code, bad.err) == (good.code, good.err)
    assert bad.code == 0
    _, charge = Ledger(place / "ledger.sqlite3").history("b")
    assert str(charge.epsilon) == command[command.index("--epsilon") + 1]
    assert "SECRET" not in bad.out
    assert "SECRET" not in str(charge)


@pytest.mark.parametrize("command", [PERCENTILE, RECORD, TREE, FREQUENT], ids=lambda c: c[0])
def test_files_without_rows(dampen, place: Path, command: tuple[str, ...]) -> None:
    path = place / command[1]
    path.write_text(path.read_text().splitlines()[0] + "\n")
    done = dampen(*command)
    # The number of records is public where one is named; elsewhere no rows are a legal neighbour.
    assert done.code == (3 if command == RECORD else 0)
    assert done.err.count("\n") == (1 if command == RECORD else 0)


def test_a_missing_node_set_is_refused(dampen) -> None:
    done = dampen(*TOP_K[:-2])
    assert (done.code, done.out) == (2, "")
    assert "Expected --nodes, the public list of nodes, or --n" in done.err


def test_nodes_from_a_file(dampen, place: Path) -> None:
    (place / "nodes.txt").write_text("\n".join(map(str, range(60))))
    done = dampen(*TOP_K[:-2], "--nodes-file", "nodes.txt", "--json")
    assert json.loads(done.out)["parameters"]["nodes"] == 60
    assert done.err == ""


VALUES = (*PERCENTILE[:4], *PERCENTILE[6:], "--json", "-p")


def test_percentiles_with_an_ellipsis(dampen) -> None:
    asked = {"10,20,...,90": range(10, 100, 10), "1,5, 7.5,...,12.5": (1, 5, 7.5, 10, 12.5)}
    for given, meant in asked.items():
        made = json.loads(dampen(*VALUES, given).out)
        assert [float(p) for p in made["parameters"]["p"]] == list(meant)
        assert made["answer"] == sorted(made["answer"])


@pytest.mark.parametrize(
    "given",
    [
        "...",
        "10,...,90",
        "10,20,...",
        "10,20,...,95",
        "20,10,...,5",
        "10,20,...,30,...,90",
        "1,1,...,9",
        "1,1.00001,...,99",
    ],
)
def test_an_ellipsis_in_unequal_steps_is_refused(dampen, given) -> None:
    made = dampen(*VALUES, given)
    assert made.code != 0
    assert "such as 10,20,...,90" in made.out + made.err


def test_percentile_answers(dampen) -> None:
    named = json.loads(dampen(*RECORD, "--labels", "employee", "--json").out)
    assert named["answer"].startswith("E")
    value = json.loads(dampen(*PERCENTILE, "--json").out)
    assert value["answer"] % 1000 == 0
    several = replaced(PERCENTILE, "-p", "50, 90")
    low, high = json.loads(dampen(*several, "--json").out)["answer"]
    assert low <= high
    assert "90" in dampen(*several).out
    deciles = dampen(*replaced(PERCENTILE, "-p", "deciles")).out.splitlines()
    assert [line.split()[0] for line in deciles[2:5]] == ["10", "20", "30"]
    nearest = [*RECORD, "--labels", "employee", "-k", "3"]
    found = json.loads(dampen(*nearest, "--json").out)
    assert len(set(found["answer"])) == found["parameters"]["k"] == 3
    assert "rank" not in dampen(*nearest).out
    numbered = json.loads(dampen(*RECORD, "--json").out)
    assert 0 <= numbered["answer"] < 300


def test_categories_from_a_file(dampen, place: Path) -> None:
    (place / "words.txt").write_text("flu\ncold\ncovid\n")
    command = [*FREQUENT[:4], "--categories-file", "words.txt", "--epsilon", "50"]
    assert json.loads(dampen(*command, "--json").out)["answer"] == "flu"


def test_a_tree_from_file_to_predictions(dampen, place: Path) -> None:
    tree = replaced(TREE, "--epsilon", "100")
    assert "age" in dampen(*tree, "--max-depth", "2", "-o", "tree.json").out
    predicted = dampen("predict", "tree.json", "new.csv")
    assert (predicted.code, predicted.err) == (0, "")
    assert predicted.out == "prediction\n<=50K\n>50K\n>50K\n"
    assert json.loads(dampen("predict", "tree.json", "new.csv", "--json").out)[0] == "<=50K"
    (place / "none.csv").write_text("age,workclass\n")
    assert dampen("predict", "tree.json", "none.csv").out == "prediction\n"
    (place / "new.csv").write_text("age,workclass\nSECRET,Private\n")
    bad = dampen("predict", "tree.json", "new.csv")
    assert bad.code == 3
    assert "SECRET" not in bad.err
    (place / "new.csv").write_text("age,work\n5,Private\n")
    refused(dampen("predict", "tree.json", "new.csv"), "Expected a column 'workclass'")
    (place / "tree.json").write_text('{"format": 1}')
    refused(dampen("predict", "tree.json", "new.csv"), "tree.json")


def test_a_missing_number_to_predict_says_what_to_type(dampen, place: Path) -> None:
    dampen(*TREE, "-o", "tree.json")
    (place / "new.csv").write_text("age,workclass\n,Private\n")
    bad = dampen("predict", "tree.json", "new.csv")
    assert bad.code == 3
    assert "Expected a number in every cell of 'age'" in bad.err
    assert "Fill them before you predict" in bad.err
    assert "missing='own'" in bad.err


@pytest.mark.parametrize("command", ["tree", "naive-bayes", "classifier"])
def test_a_model_without_columns_says_what_to_type(dampen, place: Path, command: str) -> None:
    (place / "plain.csv").write_text("age,job\n3,1\n4,0\n")
    asked = (command, "plain.csv", "--target", "job", "--epsilon", "1")
    refused(dampen(*asked), "Pass --header if that line holds the names of the columns")
    refused(dampen(*asked), "name them with --columns A,B,...")
    refused(dampen(*asked, "--header"), "Expected --classes A,B,..., the public list")
    for named in (["--header"], ["--columns", "age"]):
        assert dampen(*asked, *named, "--classes", "0,1").code == 0


def test_naive_bayes_from_file_to_predictions(dampen) -> None:
    fitted = dampen(*replaced(BAYES, "--epsilon", "100"), "-o", "model.json")
    assert "noise of standard deviation" in fitted.out
    predicted = dampen("predict", "model.json", "new.csv")
    assert (predicted.code, predicted.err) == (0, "")
    assert predicted.out.splitlines()[:2] == ["prediction", "<=50K"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_tree_that_cannot_be_written_is_not_lost(dampen, place: Path) -> None:
    (place / "full").symlink_to("/dev/full")
    done = dampen(*TREE, "-o", "full")
    assert done.code == 1
    assert json.loads(done.out)["answer"]["features"] == ["age", "workclass"]
    assert "The answer is on standard output." in done.err


def test_a_drafted_schema_grows_a_tree(dampen, place: Path) -> None:
    drafted = dampen(*DRAFT, "-o", "drafted.toml")
    assert (drafted.code, drafted.err) == (0, "")
    text = (place / "drafted.toml").read_text()
    assert "[data.columns]\nage = { lower = 17, upper = 89 }" in text
    assert 'files = ["census.csv"]' in text
    assert text == dampen(*DRAFT).out
    (place / "drafted.toml").write_text(text.replace("# rows", "rows"))
    assert dampen(*replaced(TREE, "--schema", "drafted.toml")).code == 0


def test_compare(dampen) -> None:
    lines = json.loads(dampen(*COMPARE, "--json").out)
    assert {line["share right"] for line in lines} >= {"default", "em", "sld", "joint"}
    assert all(0 <= line["ε = 1"] <= 1 for line in lines)
    assert "joint" in dampen(*COMPARE).out
    lines = json.loads(dampen(*COMPARE_TABLE, "--json").out)
    assert lines[0]["ε = 9"] < lines[0]["ε = 1"]
    assert {line["mean error"] for line in lines} >= {"default", "em", "pf"}


def test_compare_at_one_rho(dampen) -> None:
    for command in (COMPARE, COMPARE_TABLE, COMPARE_GROUPS):
        place = command.index("--epsilon")
        asked = [*command[:place], "--rho", "0.02", *command[place + 2 :], "--json"]
        assert all("ρ = 0.02" in line for line in json.loads(dampen(*asked).out))
    neither = [*COMPARE_TABLE[: COMPARE_TABLE.index("--epsilon")], "--public"]
    assert "Expected --epsilon, --rho or both." in dampen(*neither).err


def test_labels_cannot_command_the_terminal(dampen, place: Path) -> None:
    (place / "visits.csv").write_text("diagnosis\n" + "\x1b[31mred\n" * 90)
    command = replaced(replaced(FREQUENT, "--categories", "\x1b[31mred,b"), "--epsilon", "90")
    assert "\x1b" not in dampen(*command).out


def test_text_in_another_encoding_is_answered(dampen, place: Path) -> None:
    (place / "visits.csv").write_bytes(b"diagnosis,day\nflu,1\nSECRET\xe9,2\n")
    bad = dampen(*FREQUENT)
    assert (bad.code, bad.err) == (0, "")
    assert "SECRET" not in bad.out


def test_a_renamed_parquet(dampen, place: Path) -> None:
    import pyarrow.csv
    import pyarrow.parquet as pq

    pq.write_table(pyarrow.csv.read_csv(place / "salaries.csv"), place / "s.parquet")
    command = list(PERCENTILE)
    command[1] = "s.parquet"
    assert dampen(*command).code == 0
    refused(dampen(*replaced(tuple(command), "--value", "employee")), "is not numeric")
    shutil.move(place / "s.parquet", place / "salaries.csv")
    assert dampen(*PERCENTILE).code == 0
