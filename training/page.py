"""The pieces that a page is made of: tables, pictures, lists of facts, and the frame around them, as HTML.

Everything that comes from outside is escaped here; the page needs no network and no script. Numbers are written for
people: points with two decimals and a true minus sign.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Final

from training.plots import Picture

_STYLE: Final = Path(__file__).with_name("report.css")


def points(number: float) -> str:
    """Return points with two decimals."""
    return f"{round(number, 2) + 0.0:.2f}".replace("-", "\N{MINUS SIGN}")


def signed(number: float) -> str:
    """Return points with two decimals and their sign."""
    return f"{round(number, 2) + 0.0:+.2f}".replace("-", "\N{MINUS SIGN}")


def interval(low_high: Sequence[float]) -> str:
    """Return an interval of points."""
    return span(low_high, signed)


def span(low_high: Sequence[float], written: Callable[[float], str]) -> str:
    """Return an interval of anything, its ends as `written` has them."""
    low, high = low_high
    return f"{written(low)} … {written(high)}"


def percent(share: float) -> str:
    """Return a share in percent with one decimal."""
    return f"{100 * share:.1f} %"


def per_thousand(share: float) -> str:
    """Return a share as so many in a thousand, with one decimal."""
    return f"{1000 * share:.1f}"


def table(name: str, caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]], has_sum: bool = False) -> str:
    """Return a table; the first cell of each row is its heading, the last row a sum if `has_sum`.

    It scrolls sideways where it does not fit, by touch and by keyboard. `name` is its id on the page.
    """
    head = "".join(f'<th scope="col">{escape(word)}</th>' for word in heads)
    lines = []
    for number, (first, *others) in enumerate(rows):
        kind = ' class="sum"' if has_sum and number == len(rows) - 1 else ""
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in others)
        lines.append(f'<tr{kind}><th scope="row">{escape(first)}</th>{cells}</tr>')
    body = "\n".join(lines)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-labelledby="{name}">\n'
        f'<table>\n<caption id="{name}"><span>{escape(caption)}</span></caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>"
    )


def figure(picture: Picture, caption: str, described: str, is_alone: bool = False) -> str:
    """Return a picture with its caption; `described` tells those who do not see it what it shows."""
    kind = ' class="alone"' if is_alone else ""
    svg = picture.svg.replace("<svg ", f'<svg role="img" aria-label="{escape(described)}" ', 1)
    return f"<figure{kind}>\n<figcaption>{escape(caption)}</figcaption>\n{svg}\n</figure>"


def facts(named: Mapping[str, str]) -> str:
    """Return names and what they are as a list of definitions."""
    lines = "\n".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in named.items())
    return f"<dl>\n{lines}\n</dl>"


def folded(summary: str, content: str) -> str:
    """Return something that a click or a key unfolds."""
    return f"<details>\n<summary>{escape(summary)}</summary>\n{content}\n</details>"


def frame(title: str, links: Mapping[str, str], content: str) -> str:
    """Return a whole page around its content; `links` are the ids to jump to and what they are called."""
    items = "".join(f'<li><a href="#{name}">{escape(words)}</a></li>' for name, words in links.items())
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
{_STYLE.read_text("utf-8")}</style>
</head>
<body>
<header>
<h1>{escape(title)}</h1>
<nav aria-label="On this page"><ul>{items}</ul></nav>
</header>
<main>
{content}
</main>
</body>
</html>
"""
