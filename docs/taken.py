"""A Sphinx extension: pages take texts from where they are written, so that nothing is written twice.

A line of a page that is one of these comments is replaced by a text when the site is built:

- `<!-- from README.md -->`: a whole Markdown file of the checkout;
- `<!-- from README.md: Results -->`: the section of that heading, without the heading;
- `<!-- from chearts_env.observation:describe -->`: what an attribute of a module holds, or returns when called.

Headings are moved to the levels below the heading that stands before. Links to files of the checkout are turned into
links to their pages; a link to a file that has no page, like a section that is not there, is a warning, an error in
strict mode.
"""

from __future__ import annotations

import inspect
import posixpath
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from sphinx.application import Sphinx
from sphinx.util import logging

ROOT: Final = Path(__file__).resolve().parents[1]

#: The pages of files of the checkout that texts link to.
PAGES: Final = {
    "chearts_env/RULES.md": "/rules.md",
    "chearts_env/cancellation_hearts_v0.py": "/specification.md",
    "training/BEYOND_ONE_MACHINE.md": "/beyond.md",
    "baselines/pretrained/README.md": "/results.md#the-network-that-comes-with-the-project",
}
_COMMENT: Final = re.compile(r"^<!-- from (?P<place>[\w./:]+?)(?:: (?P<section>.+?))? -->$")
_HEADING: Final = re.compile(r"^(#{1,6}) (.+)$")
_LINK: Final = re.compile(r"\]\((?!https?://|#)([^)\s#]+)(#[^)\s]+)?\)")
_CLAUSE: Final = re.compile(r"^(R\d+) · ")
_LOG: Final = logging.getLogger(__name__)


class MissingTextError(ValueError):
    """A text that a page wants and the checkout does not have."""


def filled(page: str) -> tuple[str, list[Path]]:
    """Return a page with its texts in their places, and the files that they come from.

    Raises MissingTextError for a file, section, attribute or page that there is not.
    """
    lines: list[str] = []
    files: list[Path] = []
    level = 0
    for line in page.splitlines():
        found = _COMMENT.match(line)
        if found is None:
            heading = _HEADING.match(line)
            level = len(heading[1]) if heading else level
            lines.append(line)
            continue
        text, file = _text_of(found["place"], found["section"])
        files.append(file)
        lines += _settled(text, level, file)
    return "\n".join(lines) + "\n", files


def _text_of(place: str, section: str | None) -> tuple[str, Path]:
    if ":" in place:
        module_name, _, attribute = place.partition(":")
        module = import_module(module_name)
        value = getattr(module, attribute, None)
        text = value() if callable(value) else value
        if not isinstance(text, str):
            raise MissingTextError(f"{place} is no text")
        return inspect.cleandoc(text), Path(str(module.__file__))
    file = ROOT / place
    if not file.is_file():
        raise MissingTextError(f"there is no file {place}")
    text = file.read_text(encoding="utf-8")
    return (_section_of(text, section, place) if section else text), file


def _section_of(text: str, section: str, place: str) -> str:
    """Return what stands below a heading, down to the next one of its level or of a higher one."""
    inside: list[str] | None = None
    level = 0
    for line, heading in _with_headings(text):
        if inside is None:
            if heading and heading[2] == section:
                inside, level = [], len(heading[1])
        elif heading and len(heading[1]) <= level:
            break
        else:
            inside.append(line)
    if inside is None:
        raise MissingTextError(f"{place} has no section {section!r}")
    return "\n".join(inside)


def _with_headings(text: str) -> list[tuple[str, re.Match[str] | None]]:
    """Return the lines, each with its match as a heading; what stands in a fenced block is none."""
    lines: list[tuple[str, re.Match[str] | None]] = []
    is_fenced = False
    for line in text.splitlines():
        if line.startswith("```"):
            is_fenced = not is_fenced
        lines.append((line, None if is_fenced else _HEADING.match(line)))
    return lines


def _settled(text: str, level: int, file: Path) -> list[str]:
    """Return the lines of a text as they stand on a page, below a heading of some level; 0 = no heading."""
    lines = _with_headings(text)
    if level and lines and lines[0][1] and lines[0][1][1] == "#":
        lines = lines[1:]  # the page has a title of its own
    levels = sorted({len(heading[1]) for _, heading in lines if heading})
    settled = []
    for line, heading in lines:
        if heading is None:
            settled.append(_LINK.sub(lambda link: _page_link(link, file), line))
            continue
        clause = _CLAUSE.match(heading[2])
        if clause:
            settled += [f"({clause[1]})=", ""]
        settled.append("#" * (level + 1 + levels.index(len(heading[1]))) + " " + heading[2])
    return settled


def _page_link(link: re.Match[str], file: Path) -> str:
    folder = file.parent.relative_to(ROOT).as_posix()
    if link[1].startswith("/"):  # a page already
        return link[0]
    target = posixpath.normpath(posixpath.join(folder, link[1]))
    if target not in PAGES:
        raise MissingTextError(f"{file.relative_to(ROOT)} links to {link[1]}, which has no page")
    return f"]({PAGES[target]}{link[2] or ''})"


def specification() -> str:
    """Return the environment's docstring, its specification, with a link in place of the observation's table."""
    from chearts_env import cancellation_hearts_v0
    from chearts_env.observation import describe

    whole, table = cancellation_hearts_v0.__doc__ or "", describe()
    if table not in whole:
        raise MissingTextError("the docstring of cancellation_hearts_v0 does not hold the observation's table")
    return whole.replace(table, "[The observation, entry by entry](/observation.md) has the table of its fields.")


def _fill(app: Sphinx, page: str, source: list[str]) -> None:
    try:
        source[0], files = filled(source[0])
    except MissingTextError as error:
        _LOG.warning("%s", error, location=page)
        return
    for file in files:
        app.env.note_dependency(str(file))


def setup(app: Sphinx) -> dict[str, Any]:
    """Join Sphinx."""
    fill: Callable[..., None] = _fill
    app.connect("source-read", fill)
    return {"parallel_read_safe": True}
