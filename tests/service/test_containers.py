"""`Dockerfile` and `compose.yaml`, against the package that they install and start."""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from dampen.cli.main import run
from dampen.service.running import SECONDS_TO_FINISH

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


def test_the_wheel_is_built_of_what_is_copied() -> None:
    """Every file that is copied is there, and every one that the build names is copied."""
    copied = [rest for word, rest in instructions() if word == "COPY" and "--from" not in rest]
    names = {name for rest in copied for name in shlex.split(rest)[:-1]}
    assert all((ROOT / name).exists() for name in names)
    project = PROJECT["project"]
    assert {"pyproject.toml", "src", project["readme"], *project["license-files"]} <= names
    assert {"setup.py", "MANIFEST.in"} <= names


def test_the_image_installs_extras_that_exist_for_a_version_that_is_supported() -> None:
    (installed,) = [rest for word, rest in instructions() if word == "RUN" and ".whl" in rest]
    found = re.search(r"\[([a-z,]+)\]", installed)
    assert found is not None
    extras = set(found[1].split(","))
    assert {"serve", "postgres"} <= extras <= PROJECT["project"]["optional-dependencies"].keys()
    versions = {rest.split()[0] for word, rest in instructions() if word == "FROM"}
    (version,) = {re.sub(r"python:(\d+\.\d+).*", r"\1", each) for each in versions}
    assert f"Programming Language :: Python :: {version}" in PROJECT["project"]["classifiers"]


def test_what_the_image_starts_and_asks_exists(capsys: pytest.CaptureFixture[str]) -> None:
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
