"""How the site is built: `make docs`, offline, with warnings as errors."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # examples run at build, beside others
os.environ.setdefault("COLUMNS", "100")

from _reference import write_reference

import simlabel

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "simlabel"
author = "the simlabel developers"
version = release = simlabel.__version__
language = "en_GB"
default_role = "py:obj"  # what docstrings name in backticks is linked where there is a page

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = [
    "_build",
    "sg_execution_times.rst",
    "**/sg_execution_times.rst",
    "gallery/**/*.ipynb",
    "reference/used",
]
suppress_warnings = ["config.cache", "myst.header", "ref.python"]  # the last: types in docstrings are words
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist", "attrs_block"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # the docstrings say it, in words
autosummary_generate = True
toc_object_entries_show_parents = "hide"
napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]  # names with their underscore, several in a line

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "ignore_pattern": r"^(?!plot_)",
    "backreferences_dir": "reference/used",
    "doc_module": ("simlabel",),
    "min_reported_time": 1e9,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "simlabel"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"changes": []}
html_theme_options = {
    "show_prev_next": False,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

write_reference(Path(__file__).parent / "reference")

#: what scikit-learn gives every estimator: documented there
_OF_SCIKIT_LEARN = re.compile(r"set_\w+_request|get_metadata_routing|set_output|__\w+__")


def setup(app: Sphinx) -> None:
    """Leave out of the reference what is not ours to explain."""
    app.connect(
        "autodoc-skip-member", lambda *called: True if _OF_SCIKIT_LEARN.fullmatch(called[2]) else None
    )
