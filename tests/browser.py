"""Chromium, headless: opens a replay page in a frame of some width, uses it, and returns what it showed."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--allow-file-access-from-files", "--enable-logging=stderr",
    "--window-size=1400,1000", "--virtual-time-budget=60000", "--dump-dom",
]  # fmt: skip
DRIVER = (Path(__file__).parent / "data" / "replay_driver.html").read_text("utf-8")
#: Runs before the page's own script, and notes all that goes wrong.
COLLECTOR = """<script>
var problems = [];
for (const kind of ["error", "unhandledrejection", "securitypolicyviolation"]) addEventListener(kind, (event) =>
  problems.push(`${kind}: ${event.message || event.reason || event.violatedDirective || event.target}`), true);
for (const kind of ["error", "warn"]) console[kind] = (...words) =>
  problems.push(`console.${kind}: ${words.join(" ")}`);
</script>"""


def walk(hand: int, view: int | None, places: Iterable[int], whole: bool = False) -> dict[str, Any]:
    """Ask for what the page shows of a hand at some positions, to a seat or, for None, with all cards open.

    `whole` asks for its HTML without what is hidden.
    """
    return {"hand": str(hand), "view": "all" if view is None else str(view), "places": list(places), "whole": whole}


def browse(
    page: str, folder: Path, walks: Iterable[dict[str, Any]] = (), width: int = 1280, controls: bool = False
) -> Any:
    """Return what the driver noted, and `console`, the lines that Chromium itself logged of the page's console."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: the page cannot be tried")
    asked = json.dumps({"walks": list(walks), "controls": controls})
    (folder / "page.html").write_text(page.replace("<head>", f"<head>{COLLECTOR}", 1), "utf-8")
    driver = folder / "driver.html"
    driver.write_text(DRIVER.replace("{{width}}", str(width)).replace("{{asked}}", asked), "utf-8")
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'profile'}", driver.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=True)
    found = re.search(r'<pre id="result">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stdout[-2000:]
    result = json.loads(html.unescape(found[1]))
    assert result["failed"] == []
    return result | {"console": [line for line in done.stderr.splitlines() if "CONSOLE" in line]}
