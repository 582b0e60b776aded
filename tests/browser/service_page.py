"""The service's page in a real Chromium with the real server behind it: `make test-page`.

Not collected by default: it needs a browser (apt-get install chromium).
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dampen.cli.serve_demo import write_service

sys.path.insert(0, str(Path(__file__).parents[1] / "service"))
sys.path.insert(0, str(Path(__file__).parents[2] / "studies" / "tests" / "browser"))
from devtools import Page
from service_running import Running, started

PICTURES = os.environ.get("DAMPEN_SCREENSHOTS")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    config = write_service(tmp_path_factory.mktemp("service"))
    config.write_text(config.read_text() + "\n[service]\nstep = 0.05\npatience = 600\n")
    server = started(config)
    server.workflow.check()
    yield server
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


@pytest.mark.parametrize(
    ("name", "width", "dark"), [("desktop", 1280, False), ("phone", 390, True)]
)
def test_from_the_link_to_an_answer_in_one_click(
    running: Running, tmp_path: Path, name: str, width: int, dark: bool
) -> None:
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
            assert drawn == label
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


def test_a_wrong_question_is_said_before_it_is_asked(running: Running, tmp_path: Path) -> None:
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


def test_a_curator_sees_budgets_and_freezes(running: Running, tmp_path: Path) -> None:
    with Page(tmp_path) as page:
        entered(page, running, "curator", "carl")
        page.run("location.hash = '#/curator'")
        page.wait("document.body.innerText.includes('Analysts')")
        picture(page, "curator")
        for act, status in {"Freeze": "frozen", "Thaw": "open"}.items():
            click(page, act)
            page.wait("document.querySelector('dialog[open]') !== null")
            page.ask("Input.insertText", text="an audit")
            if act == "Freeze":
                picture(page, "curator-freezes")
            click(page, f"{act} it")
            page.wait("document.querySelector('dialog') === null")
            assert str(running.ledger["salaries"].status) == status
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


def test_an_answer_that_somebody_else_paid_for(running: Running, tmp_path: Path) -> None:
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


def test_nothing_yet(running: Running, tmp_path: Path) -> None:
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


def test_a_wrong_token_is_told(running: Running, tmp_path: Path) -> None:
    with Page(tmp_path) as page:
        page.go(url(running) + "/")
        page.wait("!document.getElementById('entry').hidden")
        page.run("document.getElementById('token').focus()")
        page.ask("Input.insertText", text="dampen_wrong")
        page.press("Enter", 13, "\r")
        page.wait("document.getElementById('trouble').textContent.includes('valid token')")
        picture(page, "entry")
