"""A Sphinx extension: where a text cites a clause of the rules, such as R15, it becomes a link to the clause."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from docutils import nodes
from sphinx.addnodes import desc_signature, pending_xref
from sphinx.application import Sphinx

_CLAUSE: Final = re.compile(r"\bR(?:[1-9]|1\d|2[0-5])\b")
#: What is shown as it stands, and what is a link already.
_LEFT_ALONE: Final = (nodes.literal, nodes.literal_block, nodes.title, nodes.reference, pending_xref, desc_signature)


def _link_clauses(app: Sphinx, page: nodes.document) -> None:
    for text in list(page.findall(nodes.Text)):
        if _CLAUSE.search(text) and not any(isinstance(each, _LEFT_ALONE) for each in _ancestors(text)):
            text.parent.replace(text, _pieces(app, text.astext()))


def _ancestors(node: nodes.Node) -> Iterator[nodes.Node]:
    while node.parent is not None:
        node = node.parent
        yield node


def _pieces(app: Sphinx, text: str) -> list[nodes.Node]:
    pieces: list[nodes.Node] = []
    end = 0
    for found in _CLAUSE.finditer(text):
        pieces.append(nodes.Text(text[end : found.start()]))
        end = found.end()
        link = pending_xref(
            "", nodes.inline("", found[0]), refdomain="std", reftype="ref", reftarget=found[0].lower(),
            refexplicit=True, refwarn=True, refdoc=app.env.docname,
        )  # fmt: skip
        pieces.append(link)
    return [*pieces, nodes.Text(text[end:])]


def setup(app: Sphinx) -> dict[str, Any]:
    """Join Sphinx."""
    app.connect("doctree-read", _link_clauses)
    return {"parallel_read_safe": True}
