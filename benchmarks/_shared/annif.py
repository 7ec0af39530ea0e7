"""The desk beside Annif on debtags: the same texts in, the same client asking both, one measure for both."""

from __future__ import annotations

import csv
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from _shared.asking import Forms
from _shared.report import Part
from _shared.timing import Scale

TRAIN, TEST, LIMIT, PORT = 6_000, 500, 10, 18_124
_WARM = 20  # texts that are asked for before the clock runs
_MAIN = "from simlabel.cli import main; main()"
_PROJECTS = """[{0}]
name={0}
language=en
backend={0}
vocab=tags
analyzer=simple
limit=10
"""


def beside_annif(part: Part, scale: Scale, program: str | None) -> None:
    """Add a table with the desk, and Annif's tfidf and svc backends where its program is named."""
    table = Path(os.environ.get("SIMLABEL_DATA", "")) / "raw" / "debtags.csv"
    if not table.exists():
        part.row("beside Annif", "left out: SIMLABEL_DATA has no raw/debtags.csv")
        return
    rows = _rows(table, scale)
    train, test = rows[: -scale.rows(TEST)], rows[-scale.rows(TEST) :]
    part.section(f"debtags: {len(train):,} packages learned, {len(test):,} asked for")
    with tempfile.TemporaryDirectory() as place:
        _told(part, "simlabel serve", _desk(Path(place), train, test))
        if program is None:
            part.row("Annif", "left out: ANNIF does not name its program")
            return
        for backend in ("tfidf", "svc"):
            _told(part, f"Annif, {backend}", _annif(Path(place) / backend, program, backend, train, test))


def _rows(table: Path, scale: Scale) -> list[tuple[str, list[str]]]:
    with table.open(encoding="utf-8") as file:
        found = [
            (f"{row['package']} {row['summary']}", row["tags"].split(";")) for row in csv.DictReader(file)
        ]
    found = [(" ".join(text.split()), tags) for text, tags in found if tags != [""]]
    random.Random(0).shuffle(found)
    return found[: scale.rows(TRAIN) + scale.rows(TEST)]


def _told(part: Part, who: str, found: dict[str, float]) -> None:
    for what, value in found.items():
        part.row(f"{who}: {what}", f"{value:.3f}" if value < 10 else f"{value:.1f}")


def _desk(place: Path, train: list[Any], test: list[Any]) -> dict[str, float]:
    with (place / "train.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["text", "tags"], *([text, ";".join(tags)] for text, tags in train)])
    command = [sys.executable, "-c", _MAIN, "serve", str(place / "desk"), "--port", str(PORT)]
    command += ["--import", str(place / "train.csv"), "--label-column", "tags", "--separator", ";"]
    with _running(command, os.environ, f"http://127.0.0.1:{PORT}") as client:
        _until(lambda: _is_ready(_status(client), len(train)))
        found = _asked(client, "simlabel", test)
        started = time.perf_counter()
        document = [{"text": "quagga counter", "subjects": [{"label": "quagga"}]}]
        client.post("/v1/projects/simlabel/learn", json=document)
        forms = Forms(str(client.base_url))
        _until(lambda: "quagga" in _labels(forms, "simlabel", "quagga counter"))
        found["until a correction counts, s"] = time.perf_counter() - started
        wanted = _status(client)["position"]
        _until(lambda: _status(client)["model_position"] >= wanted)
        return found | {"until it is in learned influence, s": time.perf_counter() - started}


def _is_ready(status: dict[str, Any], n: int) -> bool:
    """Whether all is learned, and nothing is being chosen anew since there is so much more of it."""
    return status["rows"] >= n and not status["learning"] and not status["retuning"]


def _labels(forms: Forms, project: str, text: str) -> list[str]:
    found = forms.post(f"/v1/projects/{project}/suggest", text=text, limit=LIMIT)["results"]
    return [one["label"] for one in found]


def _status(client: httpx.Client) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/api/status").json()
    return found


def _annif(place: Path, program: str, backend: str, train: list[Any], test: list[Any]) -> dict[str, float]:
    place.mkdir()
    tags = sorted({tag for _, tags in train + test for tag in tags})
    uri = {tag: f"http://tags.example/{i}" for i, tag in enumerate(tags)}
    (place / "projects.cfg").write_text(_PROJECTS.format(backend))
    (place / "vocab.tsv").write_text("".join(f"<{uri[tag]}>\t{tag}\n" for tag in tags))
    lines = [f"{text}\t{' '.join(f'<{uri[tag]}>' for tag in tags)}\n" for text, tags in train]
    (place / "train.tsv").write_text("".join(lines))

    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["NLTK_DATA"] = os.pathsep.join([os.environ.get("NLTK_DATA", ""), str(_splitter(place))])

    def done(*words: str) -> float:
        started = time.perf_counter()
        command = [program, *words]
        subprocess.run(command, cwd=place, env=environment, check=True, capture_output=True, timeout=3600)
        return time.perf_counter() - started

    done("load-vocab", "tags", "vocab.tsv", "--language", "en")
    again = done("train", backend, "train.tsv")  # neither backend learns a document more: all is learned anew
    environment["ANNIF_CONFIG"] = "annif.default_config.ProductionConfig"
    command = [program, "run", "--port", str(PORT + 1)]
    with _running(command, environment, f"http://127.0.0.1:{PORT + 1}", place) as client:
        return _asked(client, backend, test) | {"until a correction counts, s": again}


def _splitter(place: Path) -> Path:
    """What NLTK splits sentences by, knowing no abbreviation: where its own data are not, one line is one."""
    folder = place / "nltk" / "tokenizers" / "punkt_tab" / "english"
    folder.mkdir(parents=True)
    for name in ("abbrev_types.txt", "collocations.tab", "ortho_context.tab", "sent_starters.txt"):
        (folder / name).touch()
    return place / "nltk"


class _running:
    """A server, and a client of it."""

    def __init__(self, command: list[str], environment: Any, address: str, place: Path | None = None) -> None:
        self._process = subprocess.Popen(
            command, cwd=place, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._client = httpx.Client(base_url=address, timeout=120)

    def __enter__(self) -> httpx.Client:
        _until(self._answers)
        return self._client

    def _answers(self) -> bool:
        try:
            return self._client.get("/v1/projects").status_code == 200
        except httpx.TransportError:
            return False

    def __exit__(self, *_: object) -> None:
        self._client.close()
        self._process.terminate()
        self._process.wait(60)


def _until(good: Any, longest: float = 1800) -> None:
    end = time.monotonic() + longest
    while not good():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {longest} s")
        time.sleep(0.2)


def _asked(client: httpx.Client, project: str, test: list[Any]) -> dict[str, float]:
    """F1@5 and nDCG@10, each a mean over the texts, and how many texts a second."""
    forms = Forms(str(client.base_url))
    for text, _ in test[:_WARM]:
        _labels(forms, project, text)
    f1, gains, started = [], [], time.perf_counter()
    discount = 1 / np.log2(np.arange(2, LIMIT + 2))
    for text, tags in test:
        found = _labels(forms, project, text)
        right = np.array([label in tags for label in found] + [False] * LIMIT)[:LIMIT]
        f1.append(2 * right[:5].sum() / (min(5, len(found)) + len(tags)))
        gains.append((right * discount).sum() / discount[: len(tags)].sum())
    taken = time.perf_counter() - started
    return {
        "F1@5": float(np.mean(f1)),
        "nDCG@10": float(np.mean(gains)),
        "texts a second, one after the other": len(test) / taken,
    }
