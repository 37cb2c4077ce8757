"""The documentation site builds without a warning, is complete, and loads nothing from anywhere else."""

import os
import re
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import pytest

from docs.reference import write
from tests.docs.blocks import ROOT

LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}


class Loads(HTMLParser):
    """Collects what a browser fetches by itself when it shows a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in LOADING and given.get("rel") != "canonical":
            self.addresses.append(given.get(LOADING[tag]) or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    assert built.stderr == ""
    return folder


def test_every_page_is_in_the_site_and_in_its_navigation(site: Path) -> None:
    pages = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    start = (site / "index.html").read_text(encoding="utf-8")
    for page in pages:
        address = page.with_suffix(".html").as_posix()
        assert (site / address).is_file()
        assert f'href="{address}"' in start, f"{page} is not in the navigation"


def test_no_page_loads_anything_from_another_place(site: Path) -> None:
    for page in site.rglob("*.html"):
        loads = Loads()
        loads.feed(page.read_text(encoding="utf-8"))
        assert loads.addresses
        assert [address for address in loads.addresses if re.match(r"(\w+:)?//", address)] == []
    for sheet in [*site.rglob("*.css"), *(site / "images").rglob("*.svg")]:
        assert not re.search(r"(@import|url\(|href=)\s*[\"']?(https?:)?//", sheet.read_text(encoding="utf-8")), sheet


def test_scripts_are_not_part_of_the_site(site: Path) -> None:
    assert list(site.rglob("*.py")) == []


@pytest.mark.parametrize("name", write.PAGES)
def test_a_written_page_of_the_reference_is_current(name: str) -> None:
    assert (write.FOLDER / name).read_text(encoding="utf-8") == write.page(name), "run `make docs`"


def test_pictures_have_words_for_those_who_do_not_see_them() -> None:
    for path in (ROOT / "docs").rglob("*.md"):
        assert "![](" not in path.read_text(encoding="utf-8"), path


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_of_a_page_outside_the_site_lead_somewhere(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    assert [link for link in links if link and not (ROOT / link).exists()] == []


def test_every_extra_is_on_the_page_about_installing() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    rows = [line for line in (ROOT / "docs/install.md").read_text(encoding="utf-8").splitlines() if line[:3] == "| `"]
    named = [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])]
    assert sorted(named) == sorted(extras)
