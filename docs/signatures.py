"""A Sphinx extension: signatures of the reference name NumPy's types as the code does, not what they are made of."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy.typing as npt
from docutils import nodes
from sphinx.addnodes import desc_annotation
from sphinx.application import Sphinx
from sphinx.util.typing import stringify_annotation

#: An array as `autodoc` spells it out, in the text of a signature and as it is shown.
_ARRAY: Final = re.compile(r"~numpy\.ndarray\[tuple\[~typing\.Any, \.\.\.\], ~numpy\.dtype\[(.+?)\]\]")
_SHOWN_ARRAY: Final = re.compile(r"ndarray\[tuple\[Any, \.\.\.\], dtype\[(.+?)\]\]")
_DTYPE: Final = stringify_annotation(npt.DTypeLike, "smart")


def _shorten(
    app: Sphinx, what: str, name: str, described: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    return signature and _shortened(signature), returned and _shortened(returned)


def _shortened(signature: str) -> str:
    return _ARRAY.sub(r"~numpy.typing.NDArray[\1]", signature.replace(_DTYPE, "~numpy.typing.DTypeLike"))


def _shorten_properties(app: Sphinx, page: nodes.document) -> None:
    # Their types are no part of a signature.
    for annotation in list(page.findall(desc_annotation)):
        shown = annotation.astext()
        if _SHOWN_ARRAY.search(shown):
            annotation.children = []
            annotation += nodes.Text(_SHOWN_ARRAY.sub(r"NDArray[\1]", shown))


def setup(app: Sphinx) -> dict[str, Any]:
    """Join Sphinx."""
    app.connect("autodoc-process-signature", _shorten)
    app.connect("doctree-read", _shorten_properties)
    return {"parallel_read_safe": True}
