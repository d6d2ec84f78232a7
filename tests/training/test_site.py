"""The documentation site, built once in strict mode: its links lead somewhere, and it needs no network.

It stands here because the reference imports `training`. Addresses outside are checked for their form only: tests do not
use the network, and a page that is down for an hour is no fault of this project.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import pytest

from chearts_env.observation import FIELDS
from chearts_env.rules import CHOICES
from tests.pages import README, ROOT

pytestmark = pytest.mark.slow
_MISSING = [name for name in ("sphinx", "myst_parser", "furo") if find_spec(name) is None]
if _MISSING:
    pytest.skip(f"{', '.join(_MISSING)}, of the extra `docs`, not installed", allow_module_level=True)

#: Tags that have a browser load what they name when a page is opened; others wait for a click.
LOADED = {"audio", "embed", "iframe", "img", "input", "link", "object", "script", "source", "track", "video"}
NUM_CLAUSES = 25
#: What has no business in an address.
PLACEHOLDERS = re.compile(r"example\.(com|org)|localhost|127\.0\.0\.1|TODO|[<>{}\s]|/path/to")


class Link(NamedTuple):
    """What a tag of a page names: by `href`, `src` or the like."""

    page: Path
    tag: str
    address: str

    @property
    def is_outside(self) -> bool:
        """Whether it names something that is not a file of the site."""
        parts = urlsplit(self.address)
        return bool(parts.scheme or parts.netloc)


class Page(HTMLParser):
    """The links and the anchors of a page, and what it shows as text."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file
        self.links: list[Link] = []
        self.anchors: set[str] = set()
        self.texts: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            if name in ("href", "src", "action", "data", "poster") and value is not None:
                self.links.append(Link(self.file, tag, value))
            if name == "srcset" and value:
                self.links += [Link(self.file, tag, each.split()[0]) for each in value.split(",")]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        """All of it, in one line."""
        return " ".join("".join(self.texts).split())


@cache
def page_of(file: Path) -> Page:
    """Read a page, once."""
    return Page(file)


def built(source: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Build a site as `make docs` does."""
    options = ["-q", "-W", "--keep-going", "-E", "-b", "html", "-d", str(folder / "doctrees")]
    command = [sys.executable, "-m", "sphinx", *options, str(source), str(folder / "site")]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The folder of the site; a warning of Sphinx, a dead link among them, fails here."""
    folder = tmp_path_factory.mktemp("docs")
    done = built(ROOT / "docs", folder)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "site"


@pytest.fixture
def taken(monkeypatch) -> Any:
    """The extension that takes texts into pages."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    return import_module("taken")


def pages(site: Path) -> Iterator[Page]:
    """Every page."""
    for file in sorted(site.rglob("*.html")):
        yield page_of(file)


def test_site_links_inside_lead_to_files_and_anchors_that_are_there(site):
    """Every `href` and `src` of every page."""
    dead, num_links = [], 0
    for page in pages(site):
        for link in page.links:
            if link.is_outside or not link.address:
                continue
            num_links += 1
            parts = urlsplit(link.address)
            target = (page.file.parent / unquote(parts.path)).resolve() if parts.path else page.file
            is_inside = target.is_relative_to(site) and target.is_file()
            is_page = is_inside and target.suffix == ".html"
            if not is_inside or (is_page and parts.fragment and unquote(parts.fragment) not in page_of(target).anchors):
                dead.append((page.file.name, link.address))
    assert dead == []
    assert num_links > 1000


def test_site_loads_nothing_from_the_network(site):
    """Neither pages nor styles nor scripts."""
    assert [link for page in pages(site) for link in page.links if link.tag in LOADED and link.is_outside] == []
    for style in site.rglob("*.css"):
        text = re.sub(r"/\*.*?\*/", "", style.read_text(encoding="utf-8"), flags=re.DOTALL)
        named = re.findall(r"url\(\s*[\"']?([^)\"']+)", text) + re.findall(r"@import\s+[\"']([^\"']+)", text)
        assert [each for each in named if not each.startswith("data:") and urlsplit(each).netloc] == [], style
    for script in site.rglob("*.js"):
        text = script.read_text(encoding="utf-8")
        assert re.findall(r"(?:fetch|import|src\s*=|open)\(?\s*[\"'`](?:https?:)?//", text) == [], script


def test_addresses_outside_have_the_form_of_one(site):
    """Those that a page links to, and those of README.md."""
    clicked = {link.address for page in pages(site) for link in page.links if link.is_outside and link.tag == "a"}
    clicked |= set(re.findall(r"\]\((\w+://[^)]+)\)", README.read_text(encoding="utf-8")))
    assert clicked
    wrong = [each for each in sorted(clicked) if not each.startswith("https://") or PLACEHOLDERS.search(each)]
    assert wrong == []


def test_every_page_is_found_from_the_first(site):
    """By links alone, and the way to train is one of the first page's."""
    first = site / "index.html"
    seen, waiting = {first}, [first]
    while waiting:
        page = page_of(waiting.pop())
        for link in page.links:
            target = (page.file.parent / unquote(urlsplit(link.address).path)).resolve()
            if link.tag in ("a", "form") and not link.is_outside and target.suffix == ".html" and target not in seen:
                seen.add(target)
                waiting.append(target)
    assert {page.file for page in pages(site)} == seen
    assert "make train" in page_of(first).text
    assert any(link.address == "tutorials/train.html" for link in page_of(first).links)


def test_site_has_the_texts_it_takes(site):
    """Rows of README.md's tables, every clause, every field of the observation, every option, the changelog."""
    results = page_of(site / "results.html").text + page_of(site / "libraries.html").text
    rows = re.findall(r"^\| (.*[±…].*) \|$", README.read_text(encoding="utf-8"), re.MULTILINE)
    shown = [" ".join(row.replace("`", "").replace("|", " ").split()) for row in rows]
    assert len(shown) > 15
    assert [row for row in shown if row not in results] == []
    rules = page_of(site / "rules.html")
    assert {f"r{number}" for number in range(1, NUM_CLAUSES + 1)} <= rules.anchors
    observation = page_of(site / "observation.html").text
    assert [field.name for field in FIELDS if field.meaning not in observation] == []
    specification = page_of(site / "specification.html").text
    assert [option for option in CHOICES if option not in specification] == []
    assert "0.1.0 (unreleased)" in page_of(site / "changelog.html").text


def test_specification_names_everything_an_agent_meets(site):
    """Each in a section of its own."""
    sections = ("arguments", "observation-space", "action-mask", "action-space", "rewards", "infos",
        "terminations-and-truncations", "reset", "version-history", "options")  # fmt: skip
    assert set(sections) <= page_of(site / "specification.html").anchors


def test_cited_clauses_are_links(site):
    """R15 leads to its clause, on pages in Markdown and in what comes from docstrings."""
    for name in ("specification.html", "observation.html", "tutorials/train.html", "reference/games.html"):
        links = [link.address for link in page_of(site / name).links]
        assert any(re.search(r"rules\.html#r\d+$", each) for each in links), name


def test_strict_build_fails_for_a_dead_link_and_for_a_text_that_is_not_there(tmp_path):
    """Planted in pages of a site with the settings of ours."""
    source = tmp_path / "docs"
    (source / "_static").mkdir(parents=True)
    for name in ("conf.py", "taken.py", "clauses.py", "signatures.py"):
        (source / name).write_text((ROOT / "docs" / name).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "README.md").write_text("# A project\n\n## A part\n", encoding="utf-8")
    page = "# A page\n\n[one](nowhere.md), [two](#no-anchor)\n\n<!-- from README.md: No such part -->\n"
    (source / "index.md").write_text(page, encoding="utf-8")
    done = built(source, tmp_path)
    assert done.returncode == 1
    for said in ("nowhere.md", "no-anchor", "No such part"):
        assert said in done.stderr


def test_taken_sections_stop_at_the_next_and_know_code_from_headings(taken):
    """A comment in a block of shell commands is no heading; levels follow the page's own."""
    text, files = taken.filled("# Page\n\n## Sub\n\n<!-- from README.md: Train -->\n")
    assert files == [README]
    assert "### What each part is worth" in text
    assert "### Moons" in text
    assert "Is my policy any good" not in text
    start, _ = taken.filled("# Page\n\n<!-- from README.md: Start -->\n")
    assert "make test" in start
    assert "Plug it in" not in start


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("<!-- from NOWHERE.md -->", "NOWHERE.md"),
        ("<!-- from README.md: No such part -->", "No such part"),
        ("<!-- from chearts_env.rules:PRESETS -->", "PRESETS"),
        ("<!-- from README.md: Where things live -->", None),
        ("<!-- from README.md -->", "has no page"),
    ],
)
def test_texts_that_are_not_there_are_refused_by_name(taken, line, named):
    """And so are links from them to files that have no page."""
    if named is None:
        assert "chearts_env/rules.py" in taken.filled(line)[0]
        return
    with pytest.raises(taken.MissingTextError, match=re.escape(named)):
        taken.filled(line)
