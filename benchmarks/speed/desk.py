"""The tagging desk under load: 20 suggestions and 5 changes a second at 100,000 items; and Annif beside it.

Requests arrive whether or not the last one was answered, and their time counts from when they were due. The
server is `simlabel serve` in a process of its own, on this machine, and so are those who ask. Annif is where
the variable ANNIF names its program (it is installed apart: it wants other versions of the same libraries).
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import numpy as np
from _shared.annif import beside_annif
from _shared.asking import Client, until
from _shared.report import Part
from _shared.timing import Scale, seconds

from simlabel import load
from simlabel.server import ChangeContext, TaggingServer, changes

ITEMS, SUGGESTIONS, CHANGES, SECONDS, IMPORTED = 100_000, 20, 5, 60, 5_000
LABELS, WORDS, TOPIC = 20, 20_000, 60
MAIN = "from simlabel.cli import main; main()"


class Films:
    """Made-up films: each label has words of its own, among words that anybody uses."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        topics = random.Random(0)
        self.topics = [[f"w{topics.randrange(WORDS)}" for _ in range(TOPIC)] for _ in range(LABELS)]

    def one(self) -> tuple[dict[str, Any], list[str]]:
        tags = self.rng.sample(range(LABELS), self.rng.choice([1, 2, 3]))
        words = [self.rng.choice(self.topics[tag]) for tag in tags for _ in range(8)]
        words += [f"w{self.rng.randrange(WORDS)}" for _ in range(10)]
        self.rng.shuffle(words)
        content = {
            "title": " ".join(words[:4]),
            "plot": " ".join(words),
            "year": self.rng.randint(1950, 2020),
        }
        return content, [f"tag {tag}" for tag in tags]

    def csv(self, rows: int) -> bytes:
        lines = ["title,plot,year,tags"]
        for _ in range(rows):
            content, tags = self.one()
            lines.append(f"{content['title']},{content['plot']},{content['year']},{'|'.join(tags)}")
        return "\n".join(lines).encode()


def filled(folder: Path, n: int) -> float:
    """A desk with n items that are done, and a model; how long the model took."""
    desk, films = TaggingServer(folder), Films(1)
    for start in range(0, n, 1000):
        new = [films.one() for _ in range(min(1000, n - start))]
        items = [changes.NewItem(content, None, tags, True) for content, tags in new]
        desk.store.write_and_wait(
            lambda db, items=items: (
                changes.add_items(ChangeContext(db, "bench", desk.store.clock()), items).updated
            )
        )
    desk.start()
    started = time.perf_counter()
    learned = desk.updater.wait_for(lambda: desk.predictor.published is not None, 3600)
    taken = time.perf_counter() - started
    desk.close()
    if not learned:
        raise RuntimeError(f"no model within an hour: {desk.updater.state['problem']}")
    return taken


@dataclass
class Served:
    """A server, and how long it took to answer at all, and with suggestions."""

    process: subprocess.Popen[str]
    address: str
    up: float
    ready: float

    @classmethod
    def start(cls, folder: Path) -> Served:
        started = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-c", MAIN, "serve", str(folder), "--port", "0"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        address = process.stdout.readline().split(" is at ")[1].split()[0]
        up = _waited(address + "healthz", started, lambda answer: answer.status_code == 200)
        ready = _waited(address + "api/status", started, lambda answer: answer.json()["model"])
        return cls(process, address, up, ready)

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


def _waited(address: str, started: float, good: Any) -> float:
    while time.perf_counter() - started < 600:
        try:
            if good(httpx.get(address, timeout=30)):
                return time.perf_counter() - started
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    raise RuntimeError(f"{address} did not answer")


@dataclass
class Load:
    """What came of a while of requests."""

    suggest: list[float] = field(default_factory=list)
    change: list[float] = field(default_factory=list)
    counts: list[float] = field(default_factory=list)
    failed: int = 0
    late: int = 0  # suggestions without a change that was answered before they were asked for
    acknowledged: int = 0
    pending: dict[int, float] = field(default_factory=dict)


async def loaded(address: str, length: float, n_items: int, beside: Any = None) -> Load:
    """Suggestions and changes as they come, open loop; `beside` is awaited at the start."""
    load, films, rng = Load(), Films(int(time.time())), random.Random(5)
    client = Client(address)

    async def suggest(due: float) -> None:
        known = load.acknowledged
        status, answer = await client.post("/api/suggest", {"rows": [films.one()[0]], "limit": 5})
        load.suggest.append(time.perf_counter() - due)
        load.failed += status != 200
        load.late += answer["plain_position"] < known

    async def change(due: float) -> None:
        number, label = rng.randint(1, n_items), f"tag {rng.randrange(LABELS)}"
        what = rng.choice(["tags", "reject"])
        status, answer = await client.post(f"/api/items/{number}/{what}", {"label": label})
        load.change.append(time.perf_counter() - due)
        load.failed += status != 200
        if status == 200 and answer["seq"] is not None:
            load.pending[answer["seq"]] = time.perf_counter()
            load.acknowledged = max(load.acknowledged, answer["seq"])

    async def watch() -> None:
        while True:
            position = (await client.get("/api/status"))[1]["model_position"]
            for seq in [seq for seq in load.pending if seq <= position]:
                load.counts.append(time.perf_counter() - load.pending.pop(seq))
            await asyncio.sleep(0.25)

    watching = asyncio.create_task(watch())
    if beside is not None:
        await beside(client)
    tasks, start = [], time.perf_counter()
    dues = [(i / SUGGESTIONS, suggest) for i in range(int(length * SUGGESTIONS))]
    dues += [(i / CHANGES, change) for i in range(int(length * CHANGES))]
    for due, what in sorted(dues, key=lambda pair: pair[0]):
        await until(start + due)
        tasks.append(asyncio.create_task(what(start + due)))
    await asyncio.gather(*tasks)
    end = time.perf_counter() + 300
    while load.pending and time.perf_counter() < end:
        await asyncio.sleep(0.25)
    watching.cancel()
    client.close()
    return load


async def import_and_retune(client: Client, rows: int) -> None:
    await client.send("POST", "/api/imports?name=more.csv&label_column=tags", Films(9).csv(rows))
    await client.post("/api/retune")


def bare(folder: Path, pause: float, ready: bool = False) -> float:
    """Median seconds of a prediction for one row in this process, with a pause before each.

    The model is as it was opened, or `ready`, as the desk has it: with its sums taken before.
    """
    (file,) = (folder / "models").iterdir()
    model, films = load(file), Films(3)
    if ready:
        model.warm_up()
    rows = [films.one()[0] for _ in range(60)]
    model.predict_proba(rows[:1])

    def one(row: dict[str, Any]) -> float:
        time.sleep(pause)
        return seconds(lambda: model.predict_proba([row]))

    return median(one(row) for row in rows)


def run(scale: Scale) -> Part:
    n, length = scale.rows(ITEMS), 5.0 if scale.small else SECONDS
    part = Part("The tagging desk under load", ["what", "value"])
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "desk"
        fit = filled(folder, n)
        in_a_row, alone = bare(folder, 0.0), bare(folder, 1 / SUGGESTIONS)
        ready = bare(folder, 1 / SUGGESTIONS, ready=True)
        served = Served.start(folder)
        try:
            quiet = asyncio.run(loaded(served.address, length, n))
            busy = asyncio.run(
                loaded(
                    served.address, length, n, lambda client: import_and_retune(client, scale.rows(IMPORTED))
                )
            )
        finally:
            served.end()
    p50, p99 = np.percentile(quiet.suggest, [50, 99])
    busy99 = np.percentile(busy.suggest, 99)
    part.row("items, all done", f"{n:,}")
    part.row("first fit of the model, s", f"{fit:.1f}")
    part.row("start until it answers, s", f"{served.up:.2f}")
    part.row("start until it suggests, s", f"{served.ready:.2f}")
    part.row("bare prediction of one row in a process, one after the other, ms", f"{in_a_row * 1e3:.2f}")
    part.row(f"the same, {SUGGESTIONS} a second, as the desk is asked, ms", f"{alone * 1e3:.2f}")
    part.row("the same of a model that was made ready, as the desk's is, ms", f"{ready * 1e3:.2f}")
    part.row("suggest, p50, ms", f"{p50 * 1e3:.2f}")
    part.row("suggest, p99, ms", f"{p99 * 1e3:.2f}")
    part.row(
        "change stored, p50 and p99, ms",
        " and ".join(f"{v * 1e3:.1f}" for v in np.percentile(quiet.change, [50, 99])),
    )
    counts = quiet.counts or [float("nan")]
    part.row("suggestions that lack a change answered before, in plain sums", quiet.late + busy.late)
    part.row(
        "until a change is learned, median and longest, s", f"{median(counts):.2f} and {max(counts):.2f}"
    )
    part.row("changes not learned within 5 minutes", len(quiet.pending))
    part.row("suggest while an import and a retune run, p99, ms", f"{busy99 * 1e3:.2f}")
    part.row("requests that failed", quiet.failed + busy.failed)
    part.figure(
        "suggest at a desk, p50", f"{p50 / alone:.2f}", "a bare prediction at the same pace", "at most 2.5"
    )
    part.figure("suggest during import and retune, p99", f"{busy99 / p99:.2f}", "the quiet p99", "at most 3")
    beside_annif(part, scale, os.environ.get("ANNIF"))
    part.notes = ["Everything runs on one machine: those who ask take part of it from the server."]
    return part
