"""How Sphinx builds the documentation site: `make docs`, in strict mode, into `site/`.

Nothing here is loaded from the network, when the site is built or when it is looked at.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from chearts_env import __version__  # noqa: E402 - the checkout must be on the path first

project = "chearts_env"
author = copyright = "the chearts_env developers"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "taken", "clauses", "signatures"]
exclude_patterns = ["Thumbs.db", ".DS_Store"]

# Pages: Markdown, with GitHub's anchors for headings.
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3

# The reference: docstrings write names and values in single backticks; those that are names become links.
default_role = "py:obj"
smartquotes = False  # quotes and dashes stay what is to be typed
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90
napoleon_google_docstring = True
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = "chearts_env"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_domain_indices = False
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
