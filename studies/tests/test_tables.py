"""Published tables: made from full runs only, into marked places, the same every time."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from dampen.errors import ParameterError
from dampen_studies import claims, record, studies
from dampen_studies.cli import main
from dampen_studies.experiments import bins, model_methods, nodes, split, topk, trees
from dampen_studies.report import group_tables, headline, losses, tables, writing
from dampen_studies.runner import run

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]


def rows(study, **columns):
    """Made-up rows: every combination of the given columns, in the order of the CSV."""
    found = [{}]
    for name in studies.named(study).columns:
        values = columns.get(name, [0.0])
        found = [{**row, name: value} for row in found for value in values]
    for i, row in enumerate(found):
        row[columns["measure"]] = 0.25 + 0.001 * (i % 500)
    return found


FULL = {
    "topk": rows("topk", dataset=["enron", "dblp", "github"], k=[1.0, 5.0, 10.0, 20.0],
                 epsilon=[0.01, 0.1], method=["em", "ld", "sld", "degree", "dampen"],
                 runs=[100.0], measure="accuracy"),
    "nodes": rows("nodes", dataset=["dblp", "ca-hepth"], k=[5.0, 20.0],
                  epsilon=[0.05, 0.1, 0.5, 1.0],
                  method=[*nodes.COMPARED, "degree-ceiling", "triangle-ceiling", "limit"],
                  runs=[40.0], measure="accuracy"),
    "sweep": rows("sweep", graph=["caves", "windmill"], k=[3.0, 5.0], epsilon=[0.1, 10.0],
                  runs=[200.0], measure="accuracy"),
    "centralities": rows("centralities", dataset=["dblp"], centrality=["PageRank", "k-core"],
                         method=["degree", "dampen", "itself"],
                         epsilon=[0.1, 1.0], runs=[40.0], measure="found"),
    "trees": rows("trees", dataset=["nltcs", "acs", "adult"], depth=[2.0, 5.0],
                  epsilon=[0.05, 0.5], method=trees.METHODS, run=[0.0, 1.0, 2.0],
                  measure="accuracy"),
    "split": rows("split", epsilon=[0.1, 1.0], method=(*split.OURS, *split.OTHERS),
                  depth=[2.0, 5.0], measure="accuracy"),
    "labels": rows("labels", dataset=["patent", "hepth"], p=[50.0], epsilon=[1.0, 5.0],
                   method=["em", "ld", "dampen"], measure="error"),
    "two-stages": rows("two-stages", dataset=["patent", "two-humps-1"], p=[50.0],
                       epsilon=[2.0, 5.0],
                       method=["dampened", "two stages", "form", "symmetric"], measure="error"),
    "bins": rows("bins", dataset=["one", "two"], classes=[9.0], rows=[70.0], columns=[2.0],
                 values=[4.0], epsilon=[0.1, 1.0], model=(*map(float, bins.COUNTS), "bayes"),
                 measure="accuracy"),
    "rivals": rows("rivals", dataset=["one", "two"], epsilon=[0.1, 1.0],
                    method=list(model_methods.COMPARED), measure="accuracy"),
    "several-labels": rows("several-labels", dataset=["patent", "hepth"], p=[50.0],
                           epsilon=[2.0, 5.0], k=[1.0, 5.0],
                           method=["together", "one by one", "nearest"], measure="error"),
    "shift": rows("shift", problem=["sites", "roads"], candidates=[9.0], epsilon=[0.1, 1.0],
                  method=["em", "pf", "ld", "sld", "sld-down", "ld-shifted", "auto", "gem"],
                  chance=[2.0], measure="error"),
    "percentiles": rows("percentiles", dataset=["patent", "hepth", "income"],
                        p=[50.0, 90.0, 99.0], epsilon=[0.1, 1.0],
                        method=["em", "pf", "ld", "dampen", "value"], measure="error"),
    "many": rows("many", dataset=["md-sal-fa"], percentiles=[9.0, 99.0], epsilon=[0.5],
                 method=["together", "split", "opendp"], runs=[5.0], measure="error"),
    "privatesql": rows("privatesql", dataset=["enron", "dblp", "github"], sample=[0.0, 1.0],
                       epsilon=[0.1, 0.5, 1.0, 5.0, 10.0],
                       method=["sld", "private-sql", "private-sql-flex", "private-sql-nnls",
                               "private-sql-rows", "degree"], measure="accuracy"),
    "peers": rows("peers", dataset=["adult-all"], epsilon=[1.0], p=[50.0],
                  method=["dampen", "opendp"], runs=[60.0], measure="error"),
    "models": rows("models", dataset=["letter", "wine"], epsilon=[0.1, 1.0],
                   method=(*model_methods.OURS, *model_methods.PEERS), measure="accuracy"),
    "criteria": rows("criteria", dataset=["letter", "wine"], epsilon=[0.1, 1.0],
                     method=tuple(model_methods.CRITERIA), measure="accuracy"),
    "groups": rows("groups", dataset=["stays"], statistic=["median", "mean"],
                   method=group_tables.GROUP_METHODS, measure="needed"),
}  # fmt: skip


COMMITTED = writing.load(ROOT / "studies" / "results")
FULL = COMMITTED | FULL


@pytest.mark.parametrize("name", ["results", *tables.MAKERS])
def test_every_table_is_markdown(name):
    made = tables.made(name, FULL, [])
    lines = [line for line in made.splitlines() if line.startswith("|")]
    assert len(lines) > 2
    for block in re.findall(r"(?:^\|.*\n?)+", made, flags=re.M):
        assert len({line.count(" | ") for line in block.splitlines()[2:]}) == 1


def test_marked_places_are_filled_and_nothing_else_changes():
    page = "Before.\n\n<!-- dampen-studies table peers -->\nold\n<!-- end of table -->\n\nAfter.\n"
    once, filled, lacking = tables.publish(page, FULL, [])
    assert (filled, lacking) == (1, [])
    assert once.startswith("Before.\n\n<!--")
    assert once.endswith("<!-- end of table -->\n\nAfter.\n")
    assert "old" not in once
    assert "| data | ε | p | dampen | OpenDP |" in once
    assert tables.publish(once, FULL, []).text == once


def test_losses_are_read_from_the_record_and_from_new_runs(tmp_path):
    """The page and the command have a line for every study of the set."""
    assert {line.study for line in losses.LOSSES} == {study.name for study in studies.LOSSES}
    shown = CliRunner().invoke(main, ["losses", "--results", str(tmp_path)])
    assert shown.exit_code == 0, shown.output
    assert shown.output.count("  aim: ") == len(losses.LOSSES)
    page = (ROOT / "docs" / "lab-losses.md").read_text(encoding="utf-8")
    for line in losses.LOSSES:
        measured = line.measured(COMMITTED[line.study])
        assert measured in shown.output
        assert measured in page


def test_partial_runs_are_not_published():
    with pytest.raises(tables.NotRun, match="'trees' needs the record of trees"):
        tables.made("trees", {}, [])
    with pytest.raises(ParameterError, match="one of claims, runs, results, losses, table-1"):
        tables.made("tress", FULL, [])
    with pytest.raises(tables.NotRun, match="claims needs the record of beta"):
        tables.made("claims", FULL, claims.evaluate({}))
    with pytest.raises(ParameterError, match="needs the record of groups, nodes, models"):
        headline.write({}, Path("never.svg"))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_the_documentation_marks_tables_that_exist(page):
    text = page.read_text(encoding="utf-8")
    names = [mark[2] for mark in tables.MARK.finditer(text)]
    assert set(names) <= {*tables.ALONE, *tables.WHOLE, *tables.MAKERS}
    assert text.count("<!-- dampen-studies table") == len(names)


def test_a_claim_is_judged_by_whole_cells_or_by_the_committed_run(tmp_path, bundled):
    chosen = [studies.named(name) for name in ("beta", "topk")]
    run(chosen, tmp_path, quick=True, workers=1)
    assert set(writing.load(tmp_path)) == {"beta", "topk"}
    found = {f.claim.name: f for f in writing.findings(tmp_path)}
    assert found["β"].run == ""
    assert found["β"].outcome == "confirmed"
    arithmetic = found["Global sensitivity"]
    assert (arithmetic.run, arithmetic.outcome) == ("", "confirmed after correction")
    assert found["Larger k"].run.startswith("commit ")
    alone = {f.claim.name: f for f in writing.findings(tmp_path, tmp_path / "no record")}
    assert alone["Larger k"].outcome == "not measured"
    assert alone["β"].outcome == "confirmed"


def test_publish_names_missing_runs(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- dampen-studies table trees -->\n\n<!-- end of table -->\n")
    done = CliRunner().invoke(main, ["publish", str(page), "--record", str(tmp_path)])
    assert done.exit_code == 1
    assert "Other places stay as they are: the record lacks trees." in done.output
    assert page.read_text().startswith("<!-- dampen-studies table trees -->\n\n<!-- end")


def test_published_numbers_are_those_of_the_record():
    """`dampen-studies check`, on the pages and the committed results of this repository."""
    pages = list(map(str, PAGES))
    done = CliRunner().invoke(main, ["check", *pages])
    assert done.exit_code == 0, done.output
    assert re.search(r"[\d,]{4,} published numbers compared: 0 differences", done.output)


def test_every_study_of_the_paper_is_in_the_record_at_one_commit():
    known = record.runs()
    commits = {known[study.name].commit for study in studies.PAPER}
    assert len(commits) == 1
    assert re.fullmatch(r"[0-9a-f]{12}", commits.pop())


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_the_documentation_marks_values_that_exist(page):
    text = page.read_text(encoding="utf-8")
    names = [mark[2] for mark in tables.VALUE.finditer(text)]
    assert set(names) <= set(tables.VALUES)
    assert text.count("<!-- dampen-studies value") == len(names)


def test_a_number_in_a_sentence_is_filled_in_and_compared():
    text = "SLD gains <!-- dampen-studies value acs-gain -->99<!-- end --> points."
    compared = tables.compare(text, FULL, [])
    assert compared.numbers == 1
    assert [each.printed for each in compared.different] == ["99"]
    published = tables.publish(text, FULL, [])
    assert (published.filled, published.lacking) == (1, [])
    assert tables.compare(published.text, FULL, []).different == []
    assert tables.compare(text, {}, []).unrecorded == ["acs-gain"]
    with pytest.raises(ParameterError, match="Expected a value, one of acs-inverted-em"):
        tables.value("acs", FULL)


def test_check_finds_a_number_that_is_not_the_record_s(tmp_path):
    [page] = [p for p in PAGES if p.name == "lab-percentile.md"]
    text = page.read_text(encoding="utf-8")
    [block] = [m[0] for m in tables.MARK.finditer(text) if m[2] == "reductions"]
    digit = re.search(r"\d\.\d", block)[0]
    other = f"{digit[:-1]}{(int(digit[-1]) + 1) % 10}"
    copy = tmp_path / "page.md"
    copy.write_text(text.replace(block, block.replace(digit, other, 1)), encoding="utf-8")
    done = CliRunner().invoke(main, ["check", str(copy)])
    assert done.exit_code == 1
    assert "table reductions: printed" in done.output
    assert "1 differences" in done.output


def test_keeping_a_run_notes_where_it_comes_from(tmp_path):
    beta = studies.named("beta")
    run([beta], tmp_path / "full", workers=1)
    results = ["--results", str(tmp_path), "--record", str(tmp_path / "kept")]
    done = CliRunner().invoke(main, ["keep", "beta", *results])
    assert done.exit_code == 0, done.output
    kept = record.runs(tmp_path / "kept")["beta"]
    assert (kept.cells, kept.seeds) == (31, record.seeds(beta))
    assert "python 3." in kept.versions
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT[\d:]{8}Z", kept.last)
    assert record.differences(tmp_path / "kept") == []
    path = tmp_path / "kept" / "beta.csv"
    path.write_text(path.read_text().replace("em", "me", 1))
    assert record.differences(tmp_path / "kept") == ["beta.csv is not the file that was kept."]
    refused = CliRunner().invoke(main, ["keep", "trees", *results])
    assert refused.exit_code == 1
    assert "trees has 0 of 360 cells. Run `dampen-studies run trees` first." in refused.output


def test_the_headline_figure_has_a_dark_and_a_phone_variant(tmp_path):
    written = headline.write(FULL, tmp_path / "accuracy.svg")
    assert [p.name for p in written] == [
        "accuracy.svg", "accuracy-dark.svg", "accuracy-phone.svg", "accuracy-phone-dark.svg",
    ]  # fmt: skip
    light, dark, phone, _ = (p.read_text(encoding="utf-8") for p in written)
    assert "#1b1e23" in light
    assert "#1b1e23" not in dark
    width, height = (
        float(x) for x in re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', phone).groups()
    )
    assert width < 400 < height


def test_captions_say_what_was_run(bundled):
    few = [dict(row, runs=20.0) for row in FULL["topk"]]
    assert topk.STUDY.caption(few).startswith("Mean of 20 runs")
    assert topk.STUDY.caption(FULL["topk"]).startswith("Mean of 100 runs")
    once = [dict(row, folds=4.0, run=0.0) for row in FULL["trees"]]
    assert trees.STUDY.caption(once) == "4-fold cross-validation, once."
