"""The report: self-contained, complete, safe to open anywhere."""

import re
from itertools import pairwise

import pytest
from click.testing import CliRunner

from dampen_studies import journal, runner, studies
from dampen_studies.cli import main
from dampen_studies.report import drawing, figures, page, writing
from dampen_studies.report.drawing import Line, Panel


@pytest.fixture(scope="module")
def results(tmp_path_factory, bundled_throughout):
    """Two studies that were run, and one whose numbers are made up, with many methods."""
    folder = tmp_path_factory.mktemp("results")
    chosen = [studies.named(name) for name in ("examples", "beta")]
    runner.run(chosen, folder / "quick", quick=True, workers=1)
    made_up = studies.named("percentiles")
    rows = [
        (dataset, p, epsilon, method, 100.0 / (i + epsilon))
        for dataset in ("steep", "even")
        for p in (50,)
        for epsilon in (0.1, 1.0, 10.0)
        for i, method in enumerate(("em", "pf", "ld", "ld-pf", "sld", "dampen", "value"), 1)
    ]
    journal.write_csv(journal.csv_path(folder / "quick", made_up), made_up.columns, rows)
    return folder


@pytest.fixture(scope="module")
def html(results):
    writing.write(results / "quick", results / "report.html", quick=True)
    return (results / "report.html").read_text(encoding="utf-8")


def test_the_page_asks_for_nothing(html):
    assert not re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', html)
    assert not re.findall(r"url\((?!#)", html)
    assert "@import" not in html


def test_every_panel_is_there_in_page_and_files(html, results):
    panels = [
        panel.name for name, rows in writing.load(results / "quick").items()
        for panel in figures.panels(name, rows)
    ]  # fmt: skip
    assert len(panels) == 3
    for name in panels:
        assert f'id="figure-{name}"' in html
        for suffix in ("png", "svg", "csv"):
            assert (results / "quick/figures" / f"{name}.{suffix}").stat().st_size > 100


def test_ids_are_unique(html):
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))


def test_figures_take_their_colours_from_the_page(html):
    drawn = "".join(re.findall(r"<figure.*?</figure>", html, flags=re.DOTALL))
    assert "var(--m-ld)" in drawn
    assert not re.findall(r"#[0-9a-f]{6}\b", drawn)


def test_colours_are_defined_for_light_and_dark(html):
    used = set(re.findall(r"var\(--([\w-]+)\)", html))
    light, dark = html.split("prefers-color-scheme: dark")[:2]
    assert not [name for name in used if f"--{name}:" not in light]
    assert not [name for name in used if f"--{name}:" not in dark]


def test_the_same_run_gives_the_same_page(html, results):
    writing.write(results / "quick", results / "again.html", quick=True)
    assert (results / "again.html").read_text(encoding="utf-8") == html


def test_labels_do_not_cover_each_other():
    lines = [Line(m, [1, 10], [1.0, 1.0]) for m in ("em", "pf", "ld", "sld")]
    figure = drawing.draw(Panel("p", "t", "x", "y", lines, y_range=(0, 1)))
    texts = [t for t in figure.axes[0].texts if t.get_text()]
    heights = sorted(t.xyann[1] for t in texts)
    assert len(texts) == 4
    assert all(b - a >= drawing.LABEL_GAP - 1e-9 for a, b in pairwise(heights))


def test_panels_leave_no_gap():
    """As many columns as data sets, or a divisor of the panels; one stands beside words."""
    rows = [{"dataset": name} for name in ("a", "b", "c")]
    assert writing._columns(rows, 9) == 3
    assert writing._columns(rows[:2], 6) == 2
    assert writing._columns(rows[:1], 2) == 2
    assert writing._columns(rows[:1], 4) == 2
    assert 'class="side"' in page.side_by_side("words", page.panels(["one"], 1), alone=True)


def test_labels_take_no_more_room_than_they_need():
    def right(lines):
        return drawing.draw(Panel("p", "t", "x", "y", lines)).axes[0].get_position().x1

    dots, short = Line("nodes", [1, 2], [1, 2], marks=True), Line("em", [1, 2], [1, 2])
    long = Line("dampen-depth", [1, 2], [1, 2])
    assert right([dots]) > 0.95 > right([short]) > right([short, long]) > 0.6


def test_tables_escape_and_sort_by_value():
    text = page.table(["a<b", "n"], [["<script>", 0.5], ["x", 1e6]])
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert 'data-v="1000000"' in text


def test_commands(results, monkeypatch, tmp_path):
    monkeypatch.setenv("DAMPEN_DATA", str(tmp_path))
    run = CliRunner().invoke
    folder = ["--results", str(results)]
    done = run(main, ["run", "beta", "--quick", "--workers", "1", *folder])
    assert done.exit_code == 0, done.output
    listed = run(main, ["list", *folder]).output
    assert listed.startswith("paper:\n  examples: ")
    assert re.search(r"beta: .*\n +quick +done, .*\n +full +not run", listed)
    assert re.search(r"topk: .*\n +quick +not run\n +full .*needs dblp, enron, github", listed)
    page_file = tmp_path / "r.html"
    written = run(main, ["report", "--quick", "-o", str(page_file), *folder])
    assert written.exit_code == 0, written.output
    assert page_file.stat().st_size > 10_000
    short = run(main, ["run", "percentiles", "examples", "--workers", "1", *folder])
    assert short.exit_code == 1
    assert "(percentiles), because this is not here: hepth, income, patent." in short.output
    assert "not here: hepth, https://" in short.output


def test_without_any_data_the_report_is_written_and_names_the_sources(monkeypatch, tmp_path):
    """`make paper-full` where there is no data: 0 throughout, and a page."""
    monkeypatch.setenv("DAMPEN_DATA", str(tmp_path / "no data"))
    run = CliRunner().invoke
    folder = ["--results", str(tmp_path)]
    done = run(main, ["run", "paper", "--skip-missing", "--workers", "1", *folder])
    assert done.exit_code == 0, done.output
    written = run(main, ["report", "-o", str(tmp_path / "full.html"), *folder])
    assert written.exit_code == 0, written.output
    html = (tmp_path / "full.html").read_text(encoding="utf-8")
    assert "Not run: data that is not here" in html
    for source in ("https://snap.stanford.edu/data/email-Enron.txt.gz", "tables/nltcs.csv.gz"):
        assert source in html
    assert "not measured</span>" not in html
    assert "Not run now; the full run, commit " in html


def test_dataset_commands(monkeypatch, tmp_path):
    monkeypatch.setenv("DAMPEN_DATA", str(tmp_path))
    run = CliRunner().invoke
    listed = run(main, ["datasets", "list"]).output
    assert re.search(r"nltcs +by hand", listed)
    assert re.search(r"enron +fetch", listed)
    assert run(main, ["datasets", "path"]).output.strip() == str(tmp_path)
    assert run(main, ["datasets", "path", "acs"]).output.strip().endswith("tables/acs.csv.gz")
    refused = run(main, ["datasets", "fetch", "nltcs", "acs"])
    assert refused.exit_code == 1
    assert "2 of 2 data sets are not here" in refused.output
    assert "21574 rows" in refused.output
