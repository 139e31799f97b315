"""A Sphinx extension that makes the next build copy an edited style sheet or picture.

Sphinx copies static files only if a page is out of date. This extension stores the hash of all
static files as a setting, and Sphinx writes all pages again when a setting changes.
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
