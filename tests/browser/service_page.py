"""The service's page in a real Chromium with the real server behind it: `make test-page`.

Not collected by default: it needs a browser (apt-get install chromium).
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dampen.cli.demo import write_service

sys.path.insert(0, str(Path(__file__).parents[1] / "service"))
sys.path.insert(0, str(Path(__file__).parents[2] / "studies" / "tests"))
from service_running import Running, started

from devtools import Page

PICTURES = os.environ.get("DAMPEN_SCREENSHOTS")
WARDS = "patient,ward,days\n" + "".join(f"p{i % 40},{'AB'[i % 2]},{i % 17}\n" for i in range(200))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    config = write_service(tmp_path_factory.mktemp("service"))
    settings = "step = 0.05\npatience = 600\nrequests-per-minute = 10000\nregister-from = ['new']"
    config.write_text(f"{config.read_text()}\n[service]\n{settings}\n")
    (config.parent / "new").mkdir()
    (config.parent / "new" / "wards.csv").write_text(WARDS)
    server = started(config)
    for name in ("stays", "visits"):
        server.ledger[name].raise_to(100)
    try:
        server.workflow.check()
        yield server
    finally:
        server.stop()


def url(running: Running) -> str:
    return f"http://127.0.0.1:{running.http.port}"


def entered(page: Page, running: Running, role: str = "analyst", who: str = "ana") -> None:
    """Opens the page and types a token, as an analyst does."""
    page.go(url(running) + "/")
    page.wait("!document.getElementById('entry').hidden")
    token = running.token(who, role)["authorization"].split()[1]
    page.run("document.getElementById('token').focus()")
    page.ask("Input.insertText", text=token)
    page.press("Enter", 13, "\r")
    page.wait("!document.getElementById('nav').hidden")


def choose(page: Page, dataset: str, kind: str) -> None:
    page.run(f"location.hash = '#/ask/{dataset}'")
    page.wait(f"document.getElementById('dataset')?.value === '{dataset}'")
    page.run(f"document.querySelector('[name=kind][value={kind}]').click()")


MAIN = "document.querySelector('form[aria-label=Question] button.main')"


def fill(page: Page, name: str, value: str) -> None:
    """Changes a field of the question."""
    page.run(
        f"(() => {{ const field = document.querySelector('#f-{name}'); field.value = '{value}';"
        "field.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )


def click(page: Page, text: str) -> None:
    """Clicks the first button that says so, once there is one."""
    found = f"[...document.querySelectorAll('button')].find(b => b.textContent === '{text}')"
    page.wait(f"{found} !== undefined")
    page.run(f"{found}.click()")


def ask(page: Page) -> str:
    """Clicks the one button, and gives what the answer says."""
    page.wait(f"{MAIN}.disabled === false")
    page.run("document.querySelector('#answer').replaceChildren()")
    page.run(f"{MAIN}.click()")
    page.wait(
        "document.querySelector('#answer [aria-label=Answer], #answer [role=alert]') !== null"
    )
    return str(page.run("document.querySelector('#answer').innerText"))


def picture(page: Page, name: str) -> None:
    if PICTURES:
        Path(PICTURES).mkdir(parents=True, exist_ok=True)
        page.screenshot(Path(PICTURES) / f"{name}.png")


def assert_clean(page: Page, running: Running) -> None:
    """No error on the console, no request to anybody else, nothing wider than the window."""
    asked = {each["request"]["url"] for each in page.seen("Network.requestWillBeSent")}
    assert all(each.startswith((url(running), "data:")) for each in asked), asked
    assert page.seen("Runtime.exceptionThrown") == []
    said = [each["entry"] for each in page.seen("Log.entryAdded")]
    assert [each for each in said if each["level"] == "error"] == [], json.dumps(said)
    wide = page.run("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0


def assert_only_refusals(page: Page) -> None:
    """No error but requests that the service refused, which Chromium logs."""
    assert page.seen("Runtime.exceptionThrown") == []
    said = [each["entry"] for each in page.seen("Log.entryAdded")]
    assert all("status of 400" in each["text"] for each in said), json.dumps(said)


@pytest.mark.parametrize(
    ("name", "width", "dark"), [("desktop", 1280, False), ("phone", 390, True)]
)
def test_from_the_link_to_an_answer_in_one_click(
    running: Running, tmp_path: Path, name: str, width: int, dark: bool
) -> None:
    for each in running.tokens.tokens():
        if not each.revoked:
            running.tokens.revoke(each.id)
    with Page(tmp_path, width=width, dark=dark) as page:
        page.go(f"{url(running)}/#login={running.service.open_link()}")
        page.wait("document.querySelector('[aria-label=Question]') !== null")
        page.wait("document.body.innerText.includes('9 of 10 runs')")
        picture(page, f"{name}-before")
        said = ask(page)
        assert "Median of salary" in said
        assert "Permalink" in said
        assert page.run("location.hash").startswith("#/ask")
        picture(page, f"{name}-answer")
        assert_clean(page, running)


KINDS = [
    ("salaries", "percentile", {}, "The answer between the public bounds"),
    ("salaries", "percentile-record", {}, ""),
    ("visits", "most-frequent", {}, ""),
    ("stays", "top-groups", {}, "Chosen: H2"),
    ("census", "tree", {}, "The decision tree"),
    ("census", "classifier", {}, "The decision tree"),
    ("census", "naive-bayes", {}, ""),
    ("follows", "top-k", {}, ""),
    ("follows", "top-k", {"k": "3"}, "The answers, best first"),
    ("visits", "count", {}, "The numbers and their intervals"),
    ("visits", "histogram", {}, "The numbers and their intervals"),
    ("stays", "total", {}, "The numbers and their intervals"),
    ("stays", "mean", {"by": "hospital"}, "The numbers and their intervals"),
    ("stays", "groups-above", {"threshold": "6"}, "Chosen: H2"),
    ("visits", "most-frequent", {"k": "2"}, "The answers, best first"),
]


def test_every_question_has_an_answer_and_a_picture(running: Running, tmp_path: Path) -> None:
    with Page(tmp_path) as page:
        entered(page, running)
        for dataset, kind, asked, label in KINDS:
            choose(page, dataset, kind)
            for name, value in {**asked, "epsilon": "2"}.items():
                fill(page, name, value)
            page.wait(f"/ε = 2|free/.test({MAIN}.textContent)")
            ask(page)
            drawn = page.run(
                "document.querySelector('#answer [role=img], #answer ol')?.ariaLabel || ''"
            )
            assert drawn == label, (dataset, kind)
            picture(page, f"kind-{kind}")
        assert_clean(page, running)


def test_answers_by_group_copies_and_history(running: Running, tmp_path: Path) -> None:
    with Page(tmp_path) as page:
        entered(page, running)
        choose(page, "stays", "percentile")
        fill(page, "by", "hospital")
        page.wait(f"{MAIN}.disabled === false")
        assert "H1" in ask(page)
        for name, text in {
            "Python": 'service.percentile("stays", "days"',
            "curl": "/v1/datasets/stays/percentile",
            "JSON": '"mechanism": "pf"',
        }.items():
            click(page, name)
            assert text in page.run("document.querySelector('#answer pre').textContent")
        picture(page, "by-group")
        page.run("location.hash = '#/history'")
        page.wait("document.querySelector('tbody a') !== null")
        picture(page, "history")
        page.run("document.querySelector('tbody a').click()")
        page.wait("location.hash.startsWith('#/releases/')")
        page.wait("document.querySelector('[aria-label=Answer]') !== null")
        assert_clean(page, running)


def test_a_wrong_question_is_reported_before_it_is_asked(running: Running, tmp_path: Path) -> None:
    with Page(tmp_path) as page:
        entered(page, running)
        choose(page, "salaries", "percentile")
        fill(page, "p", "500")
        page.wait("document.body.innerText.includes('Expected')")
        assert page.run(f"{MAIN}.disabled")


def test_the_keyboard_is_enough(running: Running, tmp_path: Path) -> None:
    with Page(tmp_path) as page:
        entered(page, running)
        page.wait(
            "document.querySelector('form[aria-label=Question] button.main')?.disabled === false"
        )
        page.run("document.querySelector('#dataset').focus()")
        for _ in range(30):
            page.press("Tab", 9)
            if page.run("document.activeElement.classList.contains('main')"):
                break
        assert page.run("document.activeElement.classList.contains('main')")
        page.press("Enter", 13, "\r")
        page.wait("document.querySelector('#answer [aria-label=Answer]') !== null")


def curate(page: Page, running: Running, part: str, text: str) -> None:
    """Opens a part of the curator's page."""
    if not page.run("document.getElementById('name')?.textContent.includes('curator') || false"):
        entered(page, running, "curator", "carl")
    page.run(f"location.hash = '#/curator/{part}'")
    page.wait(f"document.querySelector('.tabs [aria-current]')?.hash === '#/curator/{part}'")
    page.wait(f"document.querySelector('#view').innerText.includes({json.dumps(text)})")


def put(page: Page, id: str, value: str) -> None:
    """Changes a field of a form."""
    page.run(
        f"(() => {{ const field = document.getElementById('{id}'); field.value = "
        f"{json.dumps(value)}; for (const kind of ['input', 'change'])"
        " field.dispatchEvent(new Event(kind, {bubbles: true})); })()"
    )


def act(page: Page, budget: str, name: str, **fields: str) -> None:
    """Does something to a budget by its button and the dialog."""
    card = f"document.querySelector('[aria-label=\"Budget {budget}\"]')"
    found = f"[...({card}?.querySelectorAll('button') || [])].find(b => b.textContent === '{name}')"
    page.wait(f"{found} !== undefined")
    page.run(f"{card}.dataset.before = 'yes'")
    page.run(f"{found}.click()")
    page.wait("document.querySelector('dialog[open]') !== null")
    for id, value in fields.items():
        put(page, id, value)
    picture(page, f"curator-{name.lower()}")
    click(page, f"{name} it")
    page.wait("document.querySelector('dialog') === null")
    # The page asks the service again and draws new cards; the old one shows the old state.
    page.wait(f"{card} !== null && {card}.dataset.before === undefined")


def test_a_curator_freezes_and_thaws(running: Running, tmp_path: Path) -> None:
    with Page(tmp_path) as page:
        curate(page, running, "budgets", "salaries")
        picture(page, "curator-budgets")
        for name, status in {"Freeze": "frozen", "Thaw": "open"}.items():
            act(page, "salaries", name, why="an audit")
            assert str(running.ledger["salaries"].status) == status
        assert_clean(page, running)


def test_a_curator_raises_caps_and_closes(running: Running, tmp_path: Path) -> None:
    with Page(tmp_path) as page:
        curate(page, running, "budgets", "follows")
        act(page, "follows", "Raise", epsilon="12")
        act(page, "follows", "Cap", epsilon="3", analyst="intern")
        page.wait("document.body.innerText.includes('intern at most 3')")
        assert running.ledger.total("follows") == 12
        act(page, "follows", "Close", why="the study is over")
        page.wait("document.querySelector('[aria-label=\"Budget follows\"] .badge') !== null")
        assert str(running.ledger["follows"].status) == "closed"
        assert_clean(page, running)


def test_the_keyboard_is_enough_for_curators(running: Running, tmp_path: Path) -> None:
    with Page(tmp_path) as page:
        curate(page, running, "budgets", "salaries")
        page.run("document.querySelector('.tabs a').focus()")
        for _ in range(10):
            page.press("Tab", 9)
            if page.run("document.activeElement.textContent") == "Freeze":
                break
        page.press("Enter", 13, "\r")
        page.wait("document.querySelector('dialog[open]') !== null")
        page.ask("Input.insertText", text="by keyboard")
        page.press("Enter", 13, "\r")
        page.wait("document.querySelector('dialog') === null")
        assert str(running.ledger["salaries"].status) == "frozen"
        assert running.ledger.entries("salaries")[-1].details["why"] == "by keyboard"
        running.ledger["salaries"].thaw()


def test_a_refused_action_is_explained_in_its_dialog(running: Running, tmp_path: Path) -> None:
    with Page(tmp_path) as page:
        curate(page, running, "budgets", "visits")
        card = "document.querySelector('[aria-label=\"Budget visits\"]')"
        page.wait(f"{card} !== null")
        buttons = f"[...{card}.querySelectorAll('button')]"
        page.run(f"{buttons}.find(each => each.textContent === 'Raise').click()")
        put(page, "epsilon", "1")
        click(page, "Raise it")
        page.wait("document.querySelector('dialog [role=alert]')?.innerText.includes('Expected')")
        page.press("Escape", 27)
        page.wait("document.querySelector('dialog') === null")


def test_a_curator_makes_a_budget_for_a_closed_one(running: Running, tmp_path: Path) -> None:
    running.ledger["visits"].close(why="spent")
    with Page(tmp_path) as page:
        curate(page, running, "budgets", "New budget")
        put(page, "budget-dataset", "visits")
        put(page, "budget-name", "visits-2")
        put(page, "new-epsilon", "20")
        click(page, "Create the budget")
        page.wait("document.querySelector('[aria-label=\"Budget visits-2\"]') !== null")
        assert running.ledger.total("visits-2") == 20
        choose(page, "visits", "most-frequent")
        fill(page, "epsilon", "1.25")
        assert "Most frequent" in ask(page)
        assert running.ledger.spent("visits-2") == 1.25
        assert_clean(page, running)


def test_a_curator_registers_a_data_set_and_asks_it(running: Running, tmp_path: Path) -> None:
    with Page(tmp_path) as page:
        curate(page, running, "datasets", "Register a data set")
        put(page, "file", "wards.csv")
        page.wait("document.getElementById('kind-2') !== null")
        put(page, "fact-unit", "patient")
        put(page, "kind-1", "categories")
        put(page, "kind-2", "numbers")
        put(page, "kind-0", "categories")  # nobody lists the patients
        put(page, "column-1-values", "A\nB")
        put(page, "column-2-lower", "0")
        put(page, "column-2-upper", "30")
        put(page, "limit-epsilon", "4")
        click(page, "Check the rows")
        page.wait("document.querySelector('[aria-label=\"Exact counts\"]') !== null")
        counts = page.run("document.querySelector('[aria-label=\"Exact counts\"]').innerText")
        assert "NOT PRIVATE" in counts
        assert "200 rows, 40 of patient" in counts
        picture(page, "curator-register")
        click(page, "Register the data set")
        page.wait("document.body.innerText.includes('“wards” can be asked now')")
        picture(page, "curator-registered")
        said = page.run("document.querySelector('#view').innerText")
        assert "one patient, with all their rows" in said
        assert running.configuration.sets["wards"].schema.columns["patient"].values == ()
        choose(page, "wards", "top-groups")
        page.wait("document.body.innerText.includes('Protects one patient, with all their rows')")
        assert "one patient, with all their rows" in ask(page)
        assert_clean(page, running)


def test_exact_counts_are_not_offered_elsewhere(running: Running, tmp_path: Path) -> None:
    with Page(tmp_path, width=390) as page:
        page.ask("Network.setExtraHTTPHeaders", headers={"X-Forwarded-For": "10.0.0.7"})
        curate(page, running, "datasets", "Register a data set")
        assert "Run dampen check there" in page.run("document.querySelector('#view').innerText")
        buttons = page.run("[...document.querySelectorAll('button')].map(b => b.textContent)")
        assert "Check the rows" not in buttons
        assert_clean(page, running)


def test_a_curator_makes_and_revokes_a_token(running: Running, tmp_path: Path) -> None:
    with Page(tmp_path) as page:
        curate(page, running, "tokens", "New token")
        put(page, "analyst", "grace")
        click(page, "Create the token")
        page.wait("document.querySelector('.secret') !== null")
        token = page.run("document.querySelector('.secret').textContent")
        picture(page, "curator-token")
        assert running.tokens.find(token).analyst == "grace"
        label = "Revoke the token of grace"
        page.wait(f"document.querySelector('[aria-label=\"{label}\"]') !== null")
        page.run(f"document.querySelector('[aria-label=\"{label}\"]').click()")
        click(page, "Revoke it")
        page.wait("document.querySelector('dialog') === null")
        assert running.tokens.find(token) is None
        assert_clean(page, running)


def test_a_curator_sees_who_asked_what(running: Running, tmp_path: Path) -> None:
    running.ask("stays/percentile", running.token("heidi"), value="days", p=10, epsilon="0.2")
    running.ask("stays/percentile", running.token("ivan"), value="days", p=20, epsilon="0.2")
    with Page(tmp_path, width=390, dark=True) as page:
        curate(page, running, "questions", "heidi")
        put(page, "by-analyst", "ivan")
        shown = "document.querySelector('#view section:last-of-type tbody').innerText"
        page.wait(f"{shown}.includes('ivan') && !{shown}.includes('heidi')")
        picture(page, "curator-questions-phone")
        assert_clean(page, running)


def test_the_audit_is_downloaded(running: Running, tmp_path: Path) -> None:
    with Page(tmp_path) as page:
        page.ask("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
        curate(page, running, "audit", "entries")
        picture(page, "curator-audit")
        click(page, "Download CSV")
        end = time.monotonic() + 60
        while not (tmp_path / "audit.csv").exists() and time.monotonic() < end:
            time.sleep(0.05)
        lines = (tmp_path / "audit.csv").read_text().splitlines()
        assert len(lines) == 1 + len(running.ledger.entries())
        assert_clean(page, running)


def test_epsilon_above_the_limit_disables_the_button_with_the_reason(
    running: Running, tmp_path: Path
) -> None:
    with Page(tmp_path) as page:
        entered(page, running)
        choose(page, "stays", "percentile")
        fill(page, "epsilon", "7")
        page.wait("document.querySelector('#before [role=alert]') !== null")
        said = page.run("document.querySelector('#before [role=alert]').innerText")
        assert "pays at most epsilon 5 a question" in said
        assert page.run(f"{MAIN}.disabled && {MAIN}.textContent === 'Cannot ask for ε = 7'")
        picture(page, "above-the-limit")
        fill(page, "epsilon", "4")
        page.wait(f"{MAIN}.disabled === false")


def test_analysts_have_no_curators_page(running: Running, tmp_path: Path) -> None:
    with Page(tmp_path) as page:
        entered(page, running)
        assert page.run("document.getElementById('nav-curator').hidden")
        page.run("location.hash = '#/curator/tokens'")
        page.wait(
            "document.querySelector('#view [role=alert]')?.innerText.includes('Only curators')"
        )


def test_numbers_have_bars_with_intervals(running: Running, tmp_path: Path) -> None:
    with Page(tmp_path, width=390, dark=True) as page:
        entered(page, running)
        choose(page, "stays", "histogram")
        fill(page, "value", "hospital")
        fill(page, "epsilon", "1.5")
        said = ask(page)
        assert "95 % interval" in said
        assert page.run("document.querySelectorAll('#answer svg .whisker').length") == 3
        picture(page, "histogram-phone")
        choose(page, "stays", "mean")
        fill(page, "by", "hospital")
        fill(page, "epsilon", "1.5")
        assert "H2" in ask(page)
        picture(page, "mean-by-group-phone")
        assert_clean(page, running)


def test_a_statement_of_sql_is_expected_and_asked(running: Running, tmp_path: Path) -> None:
    with Page(tmp_path) as page:
        entered(page, running)
        page.run("location.hash = '#/sql'")
        page.wait("document.getElementById('f-statement') !== null")
        statement = (
            "SELECT hospital FROM stays GROUP BY hospital ORDER BY MEDIAN(days) DESC LIMIT 1"
        )
        put(page, "f-statement", statement)
        put(page, "f-epsilon", "0.75")
        page.wait(f"/ε = 0.75|free/.test({MAIN}.textContent)")
        picture(page, "sql")
        assert "The hospital with the largest median of days" in ask(page)
        assert page.run("location.hash").startswith("#/sql?statement=SELECT")
        put(page, "f-statement", "SELECT * FROM stays; DROP TABLE stays")
        page.wait("document.querySelector('#before .bad') !== null")
        assert page.run(f"{MAIN}.disabled")
        click(page, "SELECT COUNT(*) FROM stays")
        page.wait(f"{MAIN}.disabled === false")
        assert_only_refusals(page)


def test_several_groups_are_chosen_together(running: Running, tmp_path: Path) -> None:
    with Page(tmp_path, width=390) as page:
        entered(page, running)
        choose(page, "census", "count")
        fill(page, "by", "workclass,income")
        fill(page, "epsilon", "1")
        assert "Private, >50K" in ask(page)
        picture(page, "several-groups-phone")
        assert_clean(page, running)


def test_a_question_has_an_address(running: Running, tmp_path: Path) -> None:
    """What is put together stands in the address; opened elsewhere, it is the same form."""
    with Page(tmp_path) as page:
        entered(page, running)
        choose(page, "stays", "top-groups")
        fill(page, "epsilon", "0.25")
        fill(page, "k", "2")
        page.wait("location.hash.includes('epsilon=0.25') && location.hash.includes('k=2')")
        address = page.run("location.hash")
        page.run("location.hash = '#/history'")
        page.wait("document.querySelector('#dataset') === null")
        page.run(f"location.hash = {json.dumps(address)}")
        page.wait("document.querySelector('#f-k')?.value === '2'")
        assert page.run("document.querySelector('#f-epsilon').value") == "0.25"
        assert page.run("document.querySelector('[name=kind]:checked').value") == "top-groups"


def test_an_answer_that_another_analyst_paid_for(running: Running, tmp_path: Path) -> None:
    """Its link leads to the question, for the release is not the reader's."""
    asked = {"value": "days", "p": "quartiles", "epsilon": "0.3"}
    running.ask("stays/percentile", running.token("first"), **asked)
    with Page(tmp_path, width=390) as page:
        entered(page, running, who="second")
        page.run("location.hash = '#/ask/stays/percentile?value=days&p=quartiles&epsilon=0.3'")
        page.wait(f"{MAIN}?.textContent.includes('free')")
        said = ask(page)
        assert "recorded, free" in said
        assert "Link to the question" in said
        assert "Permalink" not in said
        picture(page, "quartiles-phone")
        assert_clean(page, running)


def test_an_empty_history_says_so(running: Running, tmp_path: Path) -> None:
    with Page(tmp_path, dark=True) as page:
        entered(page, running, who="newcomer")
        page.run("location.hash = '#/history'")
        page.wait("document.body.innerText.includes('Ask the first one')")
        page.run("location.hash = '#/releases/9-0123456789abcdef'")
        page.wait("document.querySelector('#view [role=alert]') !== null")


def test_the_documentation_needs_no_other_site(running: Running, tmp_path: Path) -> None:
    with Page(tmp_path, width=390) as page:
        page.go(url(running) + "/docs")
        page.wait("document.body.innerText.includes('POST /v1/datasets/{name}/percentile')")
        picture(page, "docs-phone")
        assert_clean(page, running)


def test_a_wrong_token_is_reported(running: Running, tmp_path: Path) -> None:
    with Page(tmp_path) as page:
        page.go(url(running) + "/")
        page.wait("!document.getElementById('entry').hidden")
        page.run("document.getElementById('token').focus()")
        page.ask("Input.insertText", text="dampen_wrong")
        page.press("Enter", 13, "\r")
        page.wait("document.getElementById('trouble').textContent.includes('valid token')")
        picture(page, "entry")
