"""A Sphinx extension: an edited style sheet or picture reaches the book at the next build.

Sphinx copies static files only when some page is out of date. Here their content is a setting, and
with a changed setting all pages are written anew.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("static_content", "", "html", str)
    app.connect("config-inited", _look)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _look(app: Sphinx, config: Config) -> None:
    digest = hashlib.sha256()
    for folder in config.html_static_path:
        for path in sorted(Path(app.srcdir, folder).rglob("*")):
            if path.is_file():
                digest.update(f"{path.name}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    config.static_content = digest.hexdigest()
