"""A Sphinx extension: the built book asks for nothing outside itself.

MathJax comes from the package sphinx-mathjax-offline. sphinx-thebe, which Jupyter Book loads
whether or not anything uses it, would put a CDN's address on every page: it is unhooked.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.fileutil import copy_asset

# Of MathJax what a page with TeX asks for; the package has every input, output and language.
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
    # The package's name has hyphens: it can be found, but not written in an import.
    spec = find_spec("sphinx-mathjax-offline")
    source = Path(spec.origin).parent / "static" / "mathjax"
    target = Path(app.outdir) / "_static" / "mathjax"
    for part in MATHJAX_PARTS:
        if not (target / part).exists():
            copy_asset(source / part, target / part if (source / part).is_dir() else target)
