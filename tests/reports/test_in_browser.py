"""The page as a browser shows it."""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsClassifier

from made_data import make_data
from simlabel import SMLClassifier
from simlabel.datasets import Dataset
from simlabel.experiments import KFolds, compare
from simlabel.experiments.reports import comparison_report, write_report
from simlabel.metrics import CRITERIA, MORE_CRITERIA

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs Chromium: apt-get install chromium")


def browse(page, profile, *options):
    base = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--user-data-dir={profile}",
    ]
    command = [BROWSER, *base, "--virtual-time-budget=2000", *options, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    data = [make_data(), make_data("second", seed=1)]
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_report(comparison_report(compare(data, ["sml", "knn", "br"], KFolds(3)), data, KFolds(3)), path)
    return path


def screenshot(page, folder, *options):
    from PIL import Image

    picture = folder / "picture.png"
    browse(page, folder / "profile", f"--screenshot={picture}", "--window-size=1000,1600", *options)
    with Image.open(picture) as image:
        return np.asarray(image.convert("L"), dtype=float)


def test_the_page_shows_its_content(page, tmp_path):
    shown = browse(page, tmp_path / "profile", "--dump-dom")
    text = re.sub(r"<[^>]+>", " ", shown)
    for words in ("Comparison on made, second", "KNeighbors", "Over all data sets", "Tuning curve"):
        assert words in text


def test_light_and_dark_have_ink_on_paper(page, tmp_path):
    light = screenshot(page, tmp_path)
    dark = screenshot(page, tmp_path, "--blink-settings=preferredColorScheme=0")
    assert np.median(light) > 225
    assert np.median(dark) < 60
    for picture in (light, dark):  # text and drawings over the whole height, not a blank page
        bands = np.array_split(picture, 8)
        assert all(band.std() > 5 for band in bands)


def test_a_phone_needs_no_sideways_scrolling(page, tmp_path):
    """Tables scroll inside themselves; the page is as wide as the screen."""
    measured = page.with_name("measured.html")
    script = (
        "<script>document.title = document.documentElement.scrollWidth + '/' + innerWidth</script></body>"
    )
    measured.write_text(page.read_text(encoding="utf-8").replace("</body>", script), encoding="utf-8")
    shown = browse(measured, tmp_path / "profile", "--dump-dom", "--window-size=500,900")
    width, screen = re.search(r"<title>(\d+)/(\d+)</title>", shown).groups()
    assert int(width) <= int(screen)


def test_tables_fit_a_page_of_1200_pixels(tmp_path):
    rng = np.random.default_rng(0)
    Y = (rng.random((80, 40)) < rng.random((80, 1))).astype(np.int8)
    names = tuple(f"a_rather_long_name_of_label_{k}" for k in range(40))
    data = Dataset("wide", rng.normal(size=(80, 4)), sp.csr_array(Y), names, tuple("abcd"))
    algorithms = {
        "SomeOrganization.SomeProject.SomeLongClassifier": KNeighborsClassifier(3),
        "b": SMLClassifier(),
    }
    result = compare(data, algorithms, KFolds(3))
    report = comparison_report(result, [data], KFolds(3), criteria=[*CRITERIA, *MORE_CRITERIA])
    tables = [block for part in report.sections for block in part.blocks if hasattr(block, "headings")]
    assert {len(table.headings) for table in tables} >= {6, 16, 21}
    page = tmp_path / "wide.html"
    write_report(report, page)
    script = (
        "<script>document.querySelectorAll('details').forEach(d => d.open = true);"
        "document.title = [...document.querySelectorAll('.scroll')]"
        ".map(e => e.scrollWidth - e.clientWidth).join(' ')</script></body>"
    )
    page.write_text(page.read_text().replace("</body>", script))
    shown = browse(page, tmp_path / "profile", "--window-size=1200,1600", "--dump-dom")
    beyond = re.search(r"<title>([-\d ]+)</title>", shown)[1].split()
    assert len(beyond) == len(tables)
    assert set(beyond) == {"0"}
