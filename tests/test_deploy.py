"""What `deploy/` promises: extras, variables, ports, paths and commands that are there."""

import configparser
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from lamina.access.settings import ServerSettings
from lamina.config import load_settings
from tests.cli.tree import COMMANDS

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
CONTAINER = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
UNIT_TEXT = (DEPLOY / "lamina.service").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PORT = str(ServerSettings().port)


def unit() -> dict[str, list[str]]:
    """The settings of the service's section; one may stand several times."""
    parser = configparser.ConfigParser(strict=False, interpolation=None, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(UNIT_TEXT)
    names = parser["Service"].keys()
    return {name: re.findall(rf"^{name}=(.*)$", UNIT_TEXT, re.MULTILINE) for name in names}


def instructions(name: str) -> list[str]:
    """What follows an instruction of the Containerfile, continued lines joined."""
    joined = re.sub(r"\\\n\s*", "", CONTAINER)
    return re.findall(rf"^{name} (.*)$", joined, re.MULTILINE)


def image_environment() -> dict[str, str]:
    (told,) = instructions("ENV")
    return dict(word.split("=", 1) for word in shlex.split(told))


@pytest.mark.parametrize("text", [CONTAINER, UNIT_TEXT], ids=["container", "unit"])
def test_the_extras_that_are_installed_are_there(text: str) -> None:
    (extras,) = set(re.findall(r"'\.\[([\w,-]+)\]'", text))
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])


def test_the_variables_are_settings_with_values_that_work() -> None:
    inside = {name: value for name, value in image_environment().items() if name.startswith("LAMINA_")}
    service = COMPOSE["services"]["lamina"]["environment"]
    for environ in (inside, {**inside, **service}, dict(one.split("=", 1) for one in unit()["Environment"])):
        settings = load_settings(environ=environ).settings
        assert settings.server.port == ServerSettings().port
    assert load_settings(environ=inside).settings.server.host == "0.0.0.0"


def test_ports_are_those_of_the_service() -> None:
    assert instructions("EXPOSE") == [PORT]
    assert COMPOSE["services"]["lamina"]["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]
    assert f":{PORT}/healthz" in instructions("HEALTHCHECK")[0]


def test_what_is_copied_into_the_image_is_there() -> None:
    for told in instructions("COPY"):
        if not told.startswith("--from"):
            assert all((ROOT / word).exists() for word in told.split()[:-1]), told
    ignored = (DEPLOY / "Containerfile.dockerignore").read_text(encoding="utf-8")
    let_in = set(re.findall(r"^!(.*)$", ignored, re.MULTILINE))
    needed = {word for told in instructions("COPY") if not told.startswith("--from") for word in told.split()[:-1]}
    assert let_in == needed
    for name in PROJECT["license-files"]:
        assert any(name.startswith(word) for told in instructions("COPY") for word in told.split()), name


def test_the_image_takes_the_tested_versions() -> None:
    (recipe,) = [told for told in instructions("RUN") if "constraints.txt" in told]
    pattern = re.compile(r"^([A-Za-z0-9._-]*==[^\\]*[^ \\]) *\\*$", re.MULTILINE)
    assert pattern.pattern.replace("(", r"\(").replace(")", r"\)") in recipe  # as sed writes it
    lock = (ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8")
    taken = pattern.findall(lock)
    assert len(taken) == len(re.findall(r"^[\w.-]+==", lock, re.MULTILINE))
    assert not any("--hash" in line for line in taken)


def test_nobody_runs_as_root_and_data_outlives_the_container() -> None:
    assert instructions("USER") == ["10001"]
    store = Path(image_environment()["LAMINA_STORE"])
    assert instructions("VOLUME") == [str(store.parent)]
    lamina, postgres = COMPOSE["services"]["lamina"], COMPOSE["services"]["postgres"]
    assert lamina["read_only"] is True
    assert lamina["cap_drop"] == ["ALL"]
    assert {one.partition(":")[0] for one in postgres["volumes"]} == set(COMPOSE["volumes"])
    service = unit()
    assert service["DynamicUser"] == ["yes"]
    assert service["Environment"] == [f"LAMINA_STORE=/var/lib/{service['StateDirectory'][0]}/lamina.db"]


def test_no_password_is_written_down() -> None:
    for told in (COMPOSE["services"]["postgres"]["environment"], COMPOSE["services"]["lamina"]["environment"]):
        assert all("PASSWORD:?" in value for value in told.values() if "PASSWORD" in value or "lamina:" in value)


def test_the_commands_exist() -> None:
    for text in (CONTAINER, (DEPLOY / "compose.yaml").read_text(encoding="utf-8")):
        (told,) = re.findall(r" lamina (key \w+) admin --right admin$", text, re.MULTILINE)
        assert tuple(told.split()) in COMMANDS
    assert unit()["ExecStart"][0].split()[1:] == ["serve"]
    assert (instructions("ENTRYPOINT"), instructions("CMD")) == (['["lamina"]'], ['["serve"]'])
