"""Checks the built site: python docs/check_site.py docs/_build/html.

Every link inside leads somewhere, nothing that a page needs is fetched from elsewhere, words are spelt right.
"""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: what a browser fetches by itself, by tag and attribute
FETCHED = {
    ("script", "src"),
    ("img", "src"),
    ("link", "href"),
    ("iframe", "src"),
    ("source", "src"),
    ("source", "srcset"),
}
ROOT = Path(__file__).resolve().parent.parent


class Page(HTMLParser):
    """The places of a page, where its links lead, and what it fetches."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep ids, links and addresses."""
        for name, value in attrs:
            if name == "id" and value:
                self.places.add(value)
            elif value and (tag, name) in FETCHED:
                self.fetched.append(value)
                self.links.append(value)
            elif value and tag == "a" and name == "href":
                self.links.append(value)


def problems(site: Path) -> list[str]:
    """What is wrong with the pages and styles in a folder."""
    paths = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]  # the theme's
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in paths}
    if not pages:
        return [f"{site} has no pages"]
    found = []
    for path, page in pages.items():
        where = path.relative_to(site)
        found += [f"{where} fetches {address}" for address in page.fetched if is_outside(address)]
        found += [f"{where} leads nowhere: {link}" for link in page.links if is_broken(link, path, pages)]
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        addresses = re.findall(r"url\(\s*['\"]?([^'\")]+)", text) + re.findall(
            r"@import\s+['\"]([^'\"]+)", text
        )
        found += [
            f"{style.relative_to(site)} fetches {address}" for address in addresses if is_outside(address)
        ]
    return found


def is_outside(address: str) -> bool:
    """Whether something is fetched from another place than the site's folder."""
    return bool(urlsplit(address).netloc)


def is_broken(link: str, page: Path, pages: dict[Path, Page]) -> bool:
    """Whether a link within the site has no file, or its page no such place."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc or link in ("#", ""):
        return False
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not target.is_file():
        return True
    places = pages[target].places if target in pages else None
    return bool(parts.fragment and places is not None and unquote(parts.fragment) not in places)


def misspelt(site: Path) -> list[str]:
    """What codespell finds in the pages, in the README and in the changes."""
    words = "--ignore-words-list=retuned"
    command = [
        sys.executable,
        "-m",
        "codespell_lib",
        words,
        "--skip=*.js,*.css,_static,_images,_downloads,genindex.html",
    ]
    done = subprocess.run(
        [
            *command,
            str(site),
            str(ROOT / "README.md"),
            str(ROOT / "CHANGELOG.md"),
            str(ROOT / "CONTRIBUTING.md"),
        ],
        capture_output=True,
        text=True,
    )
    return done.stdout.splitlines()


def main(site: Path) -> int:
    """Print what is wrong; 1 if anything is."""
    found = problems(site.resolve()) + misspelt(site)
    print(
        "\n".join(found)
        or f"{len(list(site.rglob('*.html')))} pages: links, addresses and spelling are right"
    )
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
