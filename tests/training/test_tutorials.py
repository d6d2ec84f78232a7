"""The pages of the documentation run, and say what comes out: every block of every one is executed here.

Blocks of a page run in order in one folder, in this process. What a block prints is compared with the `text` block
after it. What follows from a training, which is shortened, is compared but for its numbers.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from pathlib import Path

import pytest

from tests.pages import ROOT, Block, blocks, run_python
from tests.training.test_stages import SHRUNKEN

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of TensorBoard
#: Pages of `docs` with something to run; what they take from README.md, README's own tests run.
PAGES = [
    page
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if any(block.language in ("python", "sh") for block in blocks(page))
]
#: What makes a training short: put behind the settings that a page gives it.
SHORT = ("labels.counts=[300]", "evaluation.deals=2")


class Session:
    """A reader who does what a page says, in a folder of its own that holds `configs`."""

    def __init__(self, page: Path, folder: Path) -> None:
        self.page = page
        self.folder = folder
        self.names: dict[str, object] = {}
        shutil.copytree(ROOT / "configs", folder / "configs")

    def output_of(self, block: Block) -> str:
        """Run a block and return what it prints; a block whose first line is `# NAME.py` is saved as that file."""
        file = re.match(r"# (\w+\.py)\n", block.text)
        if block.language == "python" and file:
            (self.folder / file[1]).write_text(block.text, encoding="utf-8")
            return ""
        with redirect_stdout(StringIO()) as said:
            if block.language == "python":
                run_python([block], self.page, self.names)
            for command in block.commands if block.language == "sh" else ():
                self.run(command)
        return said.getvalue()

    def run(self, command: str) -> None:
        """Run a command; `make` only looks whether it could."""
        program, *words = shlex.split(command)
        if program == "make":
            subprocess.run(["make", "-n", *words], cwd=ROOT, check=True, capture_output=True)
            return
        assert (program, words[0]) == ("python", "-m"), f"{command}: no test knows how to run this"
        arguments = [each for word in words[2:] for each in self.meant(word)]
        if words[1] == "training.train":
            arguments[1:] = [*SHRUNKEN, *arguments[1:], *SHORT]
        assert import_module(words[1]).main(arguments) == 0, command

    def meant(self, word: str) -> list[str]:
        """Return what a shell, or the reader, makes of a word."""
        if word in ("runs/*", "runs/NAME"):
            return [str(each.relative_to(self.folder)) for each in sorted(self.folder.glob("runs/*"))]
        return [word]


def without_numbers(text: str) -> list[list[str]]:
    """Return the words of each line, numbers all alike, rules of a table too; bars of progress are left out."""
    lines = [line for line in text.split("\n") if line.strip() and "\r" not in line]
    return [re.sub(r"[-+]?\d[\d.,:]*|-{3,}", "0", line).split() for line in lines]


def is_of_training(block: Block) -> bool:
    """Whether what it prints follows from a training."""
    return block.language == "sh" and ("training.train" in block.text or "runs/" in block.text)


def test_five_tutorials_are_run_here() -> None:
    """And nothing stands in them, or on another page that runs, that is neither executed nor compared."""
    assert len([page for page in PAGES if page.parent.name == "tutorials"]) == 5
    for page in PAGES:
        languages = [block.language for block in blocks(page)]
        assert set(languages) <= {"python", "sh", "text"}, page
        followers = zip(["", *languages], languages, strict=False)
        assert all(language != "text" or before in ("python", "sh") for before, language in followers), page


@pytest.mark.train
@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_page_runs_from_top_to_bottom_and_prints_what_it_shows(page: Path, tmp_path: Path, monkeypatch) -> None:
    """As a reader would: each block after those above it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    session, said, before = Session(page, tmp_path), "", None
    for block in blocks(page):
        if block.language != "text":
            said, before = session.output_of(block), block
        elif before is not None and is_of_training(before):
            assert without_numbers(said) == without_numbers(block.text), f"line {block.line}"
        else:
            assert [line.rstrip() for line in said.splitlines()] == block.text.splitlines(), f"line {block.line}"
    for file in tmp_path.glob("*.py"):
        sys.modules.pop(file.stem, None)
