"""The report in a real headless Chromium: run it with `make test-report`.

Not collected by default, because it needs a browser (Debian: `apt-get install chromium`).  It opens
the quick report, or the page named by DAMPEN_REPORT, and looks at the console, at the network, at
the figures, and at what a click on a heading does.  Screenshots go to DAMPEN_SCREENSHOTS, if set.
"""

import os
import re
from pathlib import Path

import pytest

from dampen_studies import runner, studies
from dampen_studies.report import writing
from devtools import Page

SORT = """(() => {
  const table = document.querySelector("#examples table");
  const measured = () => [...table.tBodies[0].rows].map(row => Number(row.cells[3].dataset.v));
  const button = table.tHead.rows[0].cells[3].firstChild;
  button.click(); const up = measured(); button.click();
  return {up, down: measured()};
})()"""
WIDTHS = '[...document.querySelectorAll("figure svg")].map(s => s.getBoundingClientRect().width)'
PATHS = '[...document.querySelectorAll("figure svg")].map(s => s.querySelectorAll("path").length)'
SCROLLING = '[...document.querySelectorAll(".scroll")].filter(s => s.scrollWidth > s.clientWidth)'
COLUMNS = """[...document.querySelectorAll(".panels")].map(p => [
  p.children.length, getComputedStyle(p).gridTemplateColumns.split(" ").length])"""
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def report_file(tmp_path_factory):
    given = os.environ.get("DAMPEN_REPORT")
    if given:
        return Path(given).resolve()
    folder = tmp_path_factory.mktemp("quick")
    runner.run(studies.ALL, folder, quick=True, workers=2)
    writing.write(folder, folder / "report.html", quick=True)
    return folder / "report.html"


def test_no_console_message_no_request_every_figure(tmp_path, report_file):
    with Page(tmp_path) as page:
        page.open(report_file)
        shown = page.run('[...document.querySelectorAll("figure")].map(f => f.id)')
        drawn = page.run(PATHS)
        ids = page.run('[...document.querySelectorAll("[id]")].map(e => e.id)')
        messages = page.seen(
            "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"
        )
        requests = [event["request"]["url"] for event in page.seen("Network.requestWillBeSent")]
    assert messages == []
    assert requests == [report_file.as_uri()]
    assert shown == re.findall(r'<figure id="([^"]+)"', report_file.read_text(encoding="utf-8"))
    assert len(shown) > 0
    assert min(drawn) >= 5
    assert len(ids) == len(set(ids)), "ids must be unique on the page"


@pytest.mark.parametrize("width", [1280, 360])
def test_tables_sort_and_nothing_overflows(tmp_path, report_file, width):
    with Page(tmp_path, width=width) as page:
        page.open(report_file)
        order = page.run(SORT)
        assert page.run(OVERFLOW) <= 0
        assert min(page.run(WIDTHS)) > 250
    assert order["up"] == sorted(order["up"])
    assert order["down"] == order["up"][::-1]


def test_wide_tables_scroll_on_a_phone_and_panels_take_the_width(tmp_path, report_file):
    with Page(tmp_path, width=360) as page:
        page.open(report_file)
        assert page.run(f"{SCROLLING}.length") > 0
        assert {columns for _, columns in page.run(COLUMNS)} == {1}


def test_no_row_of_panels_has_a_gap(tmp_path, report_file):
    with Page(tmp_path) as page:
        page.open(report_file)
        grids = page.run(COLUMNS)
    assert grids
    assert all(count % columns == 0 for count, columns in grids)


def test_light_and_dark_differ_and_are_readable(tmp_path, report_file):
    colours = {}
    for dark in (False, True):
        with Page(tmp_path / str(dark), dark=dark) as page:
            page.open(report_file)
            style = "getComputedStyle(document.body)"
            colours[dark] = page.run(f"[{style}.color, {style}.backgroundColor]")
    brightness = {
        dark: [sum(map(int, re.findall(r"\d+", c)[:3])) / 3 for c in pair]
        for dark, pair in colours.items()
    }
    assert brightness[False][1] - brightness[False][0] > 150
    assert brightness[True][0] - brightness[True][1] > 150


@pytest.mark.parametrize(
    ("width", "dark"), [(1280, False), (1280, True), (390, False), (390, True)]
)
def test_screenshots(tmp_path, report_file, width, dark):
    folder = Path(os.environ.get("DAMPEN_SCREENSHOTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    picture = folder / f"report-{width}-{'dark' if dark else 'light'}.png"
    with Page(tmp_path, width=width, dark=dark) as page:
        page.open(report_file)
        page.screenshot(picture)
    assert picture.stat().st_size > 50_000
