"""The pictures of a page, drawn by whatever browser there is."""

import pytest

from tests.book.browser import chromium, main


@pytest.mark.skipif(chromium() is None, reason="no Chromium here")
def test_pictures_go_to_a_folder_that_is_made(tmp_path):
    (tmp_path / "page.html").write_text("<title>A page</title><p>Text")
    main(str(tmp_path), "page.html", str(tmp_path / "new" / "pictures"))
    pictures = sorted((tmp_path / "new" / "pictures").iterdir())
    assert [p.name for p in pictures] == [
        f"page-{width}-{scheme}.png" for width in (1280, 390) for scheme in ("dark", "light")
    ]
    assert all(p.read_bytes().startswith(b"\x89PNG") for p in pictures)
