"""`Dockerfile`, `compose.yaml`, locks and workflows, against the package and its dependencies."""

import re
import shlex
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from dampen.cli.main import run
from dampen.service.app import SECONDS_TO_FINISH

sys.path.insert(0, str(Path(__file__).parents[2] / "packaging"))
import lock

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PORT = "8000"


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, each in one line."""
    text = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def compose() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "compose.yaml").read_text())


def accepts(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The command line has what a container starts, and knows its options."""
    program, name, *rest = command
    assert program in PROJECT["project"]["scripts"]
    assert run([name, *rest, "--help"]) == 0
    shown = capsys.readouterr().out
    assert all(option in shown for option in rest if option.startswith("--"))


def test_the_wheel_is_built_from_the_copied_files() -> None:
    """Every file that is copied is there, and every one that the build names is copied."""
    copied = [rest for word, rest in instructions() if word == "COPY" and "--from" not in rest]
    names = {name for rest in copied for name in shlex.split(rest)[:-1]}
    assert {"packaging/locks/build.txt", "packaging/locks/image.txt"} <= names
    assert all((ROOT / name).exists() for name in names)
    project = PROJECT["project"]
    assert {"pyproject.toml", "src", project["readme"], *project["license-files"]} <= names
    assert {"setup.py", "MANIFEST.in"} <= names


def test_the_image_installs_locked_packages_for_a_version_that_is_supported() -> None:
    installs = [rest for word, rest in instructions() if word == "RUN" and "pip install" in rest]
    assert all("--require-hashes" in each or "--no-index --no-deps" in each for each in installs)
    assert {"serve", "postgres"} <= set(lock.IMAGE)
    images = [rest.partition("=")[2] for word, rest in instructions() if word == "ARG"]
    (version,) = {re.sub(r"python:(\d+\.\d+).*", r"\1", each) for each in images}
    assert f"Programming Language :: Python :: {version}" in PROJECT["project"]["classifiers"]
    assert lock.inputs()["image"][1][-1] == version


@pytest.mark.parametrize("name", lock.inputs())
def test_a_lock_has_all_that_is_declared_by_hash_and_names_no_index(name: str) -> None:
    text = (lock.LOCKS / f"{name}.txt").read_text("utf-8")
    entries = re.split(r"\n(?=\S)", text.strip())
    assert all("==" in each and "--hash=sha256:" in each for each in entries)
    assert "://" not in text
    assert "--index" not in text
    locked = {re.split(r"[=\[ ]", each)[0].lower() for each in entries}
    declared = {re.split(r"[<>=\[; ]", each)[0].lower() for each in lock.inputs()[name][0]}
    assert declared <= locked


def test_actions_are_pinned_by_commit() -> None:
    for file in (ROOT / ".github" / "workflows").glob("*.yml"):
        used = re.findall(r"uses: ([^.\s]\S*)", file.read_text("utf-8"))  # ./ is our own
        assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", each) for each in used), file
        for step in re.findall(r"pip install (.*)", file.read_text("utf-8")):
            assert "--require-hashes" in step, file


def test_the_commands_of_the_image_exist(capsys: pytest.CaptureFixture[str]) -> None:
    found = dict(instructions())
    command = yaml.safe_load(found["CMD"])
    accepts(command, capsys)
    assert found["EXPOSE"] == PORT
    health = yaml.safe_load(found["HEALTHCHECK"].partition("CMD ")[2])
    assert f"http://127.0.0.1:{PORT}/healthz" in health[-1]
    compile(health[-1], "health", "exec")
    assert found["USER"] not in ("root", "0")


def test_compose_starts_the_same_with_a_ledger_that_it_can_reach(
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = compose()
    service, ledger = file["services"]["service"], file["services"]["ledger"]
    found = dict(instructions())
    assert service["command"] == yaml.safe_load(found["CMD"])
    accepts(service["command"], capsys)
    assert service["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]  # this machine alone: TLS is a proxy's
    assert service["volumes"][0].endswith(f":{found['WORKDIR']}")
    assert service["depends_on"]["ledger"]["condition"] == "service_healthy"
    # The address that the comment gives is that of the database beside it.
    text = (ROOT / "compose.yaml").read_text()
    user, name = ledger["environment"]["POSTGRES_USER"], ledger["environment"]["POSTGRES_DB"]
    assert f'ledger = "postgresql://{user}@ledger/{name}"' in text
    secrets = {each for one in (service, ledger) for each in one["secrets"]}
    assert secrets == file["secrets"].keys()
    used = service["entrypoint"][2], ledger["environment"]["POSTGRES_PASSWORD_FILE"]
    assert all(f"/run/secrets/{secret}" in each for secret in secrets for each in used)


def test_compose_waits_for_what_was_begun() -> None:
    grace = compose()["services"]["service"]["stop_grace_period"]
    assert int(grace.removesuffix("s")) > SECONDS_TO_FINISH
