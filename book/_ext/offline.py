"""A Sphinx extension that makes the built book independent of the internet.

MathJax is copied from the package sphinx-mathjax-offline. The extension sphinx-thebe is switched
off, because it adds an internet address to every page. Jupyter Book always loads sphinx-thebe.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.fileutil import copy_asset

# The files of MathJax that a page with TeX loads. The package has many other files.
MATHJAX_PARTS = ("tex-chtml.js", "input/tex/extensions", "output/chtml")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", _unhook_thebe)
    app.connect("builder-inited", _copy_mathjax)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _unhook_thebe(app: Sphinx, config: Config) -> None:
    for listeners in app.events.listeners.values():
        listeners[:] = [
            listener
            for listener in listeners
            if not getattr(listener.handler, "__module__", "").startswith("sphinx_thebe")
        ]
    app.registry.css_files[:] = [
        (name, options) for name, options in app.registry.css_files if "thebe" not in name
    ]


def _copy_mathjax(app: Sphinx) -> None:
    # The package cannot be imported by name, because the name contains hyphens.
    spec = find_spec("sphinx-mathjax-offline")
    source = Path(spec.origin).parent / "static" / "mathjax"
    target = Path(app.outdir) / "_static" / "mathjax"
    for part in MATHJAX_PARTS:
        if not (target / part).exists():
            copy_asset(source / part, target / part if (source / part).is_dir() else target)
