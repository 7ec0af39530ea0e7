"""The tagging server under load: 20 suggestions and 5 changes a second at 100,000 items.

Requests arrive whether or not the last one was answered, and their time counts from when they were due. The
server (`simlabel serve`) and the clients are separate processes on this machine.
"""

from __future__ import annotations

import asyncio
import json
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
from urllib.parse import urlsplit

import httpx
import numpy as np
from _shared.report import Part
from _shared.timing import Scale, seconds

from simlabel import load
from simlabel.server import ChangeContext, TaggingServer, changes

ITEMS, SUGGESTIONS, CHANGES, SECONDS, IMPORTED = 100_000, 20, 5, 60, 5_000
LABELS, WORDS, TOPIC = 20, 20_000, 60
MAIN = "from simlabel.cli import main; main()"
_AHEAD = 0.002  # seconds: a sleep ends up to a millisecond late, so the last part is a busy wait


async def until(due: float) -> None:
    """Wait until a time of `time.perf_counter`, to a few microseconds."""
    await asyncio.sleep(max(0.0, due - time.perf_counter() - _AHEAD))
    while time.perf_counter() < due:
        await asyncio.sleep(0)


class Client:
    """JSON over persistent connections, one for each concurrent request.

    A general client takes one to three milliseconds of its own for a request, as long as the response.
    """

    def __init__(self, address: str) -> None:
        place = urlsplit(address)
        self._host, self._port = place.hostname, place.port
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def get(self, path: str) -> tuple[int, Any]:
        """Return status and response."""
        return await self.send("GET", path)

    async def post(self, path: str, body: Any = None) -> tuple[int, Any]:
        """Send JSON; return status and response."""
        return await self.send("POST", path, b"" if body is None else json.dumps(body).encode())

    async def send(self, method: str, path: str, body: bytes = b"") -> tuple[int, Any]:
        """Send bytes; return status and response."""
        one = self._free.pop() if self._free else await asyncio.open_connection(self._host, self._port)
        reader, writer = one
        head = f"{method} {path} HTTP/1.1\r\nhost: {self._host}:{self._port}\r\n"
        head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
        length = next(int(line.partition(":")[2]) for line in lines if line.startswith("content-length:"))
        answer = json.loads(await reader.readexactly(length))
        if "connection: close" in lines:
            writer.close()
        else:
            self._free.append(one)
        return int(lines[0].split()[1]), answer

    def close(self) -> None:
        """Close the connections."""
        for _, writer in self._free:
            writer.close()


class Films:
    """Synthetic films: each label has its own words, among common words."""

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
    """Fill a server with n labeled items and a model; return the seconds of the first model."""
    server, films = TaggingServer(folder), Films(1)
    for start in range(0, n, 1000):
        new = [films.one() for _ in range(min(1000, n - start))]
        items = [changes.NewItem(content, None, tags, True) for content, tags in new]
        server.store.write_and_wait(
            lambda db, items=items: (
                changes.add_items(ChangeContext(db, "bench", server.store.clock()), items).updated
            )
        )
    server.start()
    started = time.perf_counter()
    learned = server.updater.wait_for(lambda: server.predictor.published is not None, 3600)
    taken = time.perf_counter() - started
    server.close()
    if not learned:
        raise RuntimeError(f"no model within an hour: {server.updater.state['problem']}")
    return taken


@dataclass
class Served:
    """A server, and the seconds until it responds, and until it suggests."""

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
    """The results of a period of requests."""

    suggest: list[float] = field(default_factory=list)
    change: list[float] = field(default_factory=list)
    counts: list[float] = field(default_factory=list)
    failed: int = 0
    late: int = 0  # suggestions that lack a change acknowledged before the request
    acknowledged: int = 0
    pending: dict[int, float] = field(default_factory=dict)


async def loaded(address: str, length: float, n_items: int, first: Any = None) -> Load:
    """Send suggestions and changes at fixed rates (open loop); `first` is awaited at the start."""
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
    if first is not None:
        await first(client)
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


def single(folder: Path, pause: float, warm: bool = False) -> float:
    """Return the median seconds of a prediction of one row in this process, with a pause before each.

    The model is as loaded, or warmed up, as in the server.
    """
    (file,) = (folder / "models").iterdir()
    model, films = load(file), Films(3)
    if warm:
        model.warm_up()
    rows = [films.one()[0] for _ in range(60)]
    model.predict_proba(rows[:1])

    def one(row: dict[str, Any]) -> float:
        time.sleep(pause)
        return seconds(lambda: model.predict_proba([row]))

    return median(one(row) for row in rows)


def run(scale: Scale) -> Part:
    n, length = scale.rows(ITEMS), 5.0 if scale.small else SECONDS
    part = Part("The tagging server under load", ["what", "value"])
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "server"
        fit = filled(folder, n)
        in_a_row, alone = single(folder, 0.0), single(folder, 1 / SUGGESTIONS)
        warm = single(folder, 1 / SUGGESTIONS, warm=True)
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
    part.row("labeled items", f"{n:,}")
    part.row("first fit of the model, s", f"{fit:.1f}")
    part.row("start until it responds, s", f"{served.up:.2f}")
    part.row("start until it suggests, s", f"{served.ready:.2f}")
    part.row("prediction of one row in a process, one after the other, ms", f"{in_a_row * 1e3:.2f}")
    part.row(f"the same, {SUGGESTIONS} a second, ms", f"{alone * 1e3:.2f}")
    part.row("the same with a warm model, as in the server, ms", f"{warm * 1e3:.2f}")
    part.row("suggest, p50, ms", f"{p50 * 1e3:.2f}")
    part.row("suggest, p99, ms", f"{p99 * 1e3:.2f}")
    part.row(
        "change stored, p50 and p99, ms",
        " and ".join(f"{v * 1e3:.1f}" for v in np.percentile(quiet.change, [50, 99])),
    )
    counts = quiet.counts or [float("nan")]
    part.row("suggestions that lack an acknowledged change, in plain sums", quiet.late + busy.late)
    part.row(
        "until a change is learned, median and longest, s", f"{median(counts):.2f} and {max(counts):.2f}"
    )
    part.row("changes not learned within 5 minutes", len(quiet.pending))
    part.row("suggest while an import and a retune run, p99, ms", f"{busy99 * 1e3:.2f}")
    part.row("requests that failed", quiet.failed + busy.failed)
    part.result(
        "suggest, p50", f"{p50 / alone:.2f}", "a prediction in a process at the same rate", "at most 2.5"
    )
    part.result("suggest during import and retune, p99", f"{busy99 / p99:.2f}", "the quiet p99", "at most 3")
    part.notes = ["Everything runs on one machine: the clients take part of it from the server."]
    return part
