"""A running server for tests, synthetic items, and checks of the store in plain Python."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import httpx
import numpy as np
import psutil
from fastapi.testclient import TestClient

from simlabel import SMLClassifier, Tagger, load
from simlabel.server import TaggingServer, apply_changes, create_store, make_app
from simlabel.tables import table_cells

MAIN = "from simlabel.cli import main; main()"


def hasty_main(seconds: float) -> str:
    """Return the code of a server with other timeouts than 10 and 20 seconds."""
    imports = "import simlabel.server._serve as c, simlabel.server._middleware as g; "
    return imports + f"c._HEAD_SECONDS = c._WRITE_SECONDS = g._SLOWEST = {seconds}; " + MAIN


WORDS = {
    "horror": ["shark", "blood", "night", "fear", "ghost", "scream"],
    "romance": ["love", "wedding", "kiss", "heart", "bouquet", "dance"],
    "crime": ["police", "murder", "bank", "thief", "detective", "trial"],
    "space": ["rocket", "planet", "orbit", "alien", "star", "moon"],
}
ADMIN = {"role": "administration"}


def made_row(rng: random.Random) -> tuple[dict[str, object], list[str]]:
    """Return a film and its tags."""
    tags = sorted(rng.sample(sorted(WORDS), rng.choice([1, 1, 2])))
    plot = " ".join(rng.choice(WORDS[tag]) for tag in tags for _ in range(6))
    title = f"The {rng.choice(WORDS[tags[0]]).title()} of {rng.randint(1900, 2020)}"
    return {"title": title, "plot": plot, "year": rng.randint(1950, 2020)}, tags


def made_items(n: int, seed: int = 0, done: bool = True) -> list[dict[str, object]]:
    """Return request bodies of items."""
    rng = random.Random(seed)
    rows = [made_row(rng) for _ in range(n)]
    return [
        {"name": f"film {seed}-{i}", "content": content, "tags": tags if done else [], "done": done}
        for i, (content, tags) in enumerate(rows)
    ]


class Client:
    """Requests to a server, which must succeed."""

    client: httpx.Client

    def post(self, path: str, body: object = None, **more: object) -> dict:
        answer = self.client.post(path, json={} if body is None else body, **more)
        assert answer.status_code < 300, answer.text
        return answer.json() if answer.content else {}

    def get(self, path: str, **more: object) -> dict:
        answer = self.client.get(path, **more)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def wait_for_model(self, seconds: float = 120) -> dict:
        """Wait until the model is trained on all changes."""
        return self.wait(lambda status: status["model_position"] >= status["position"], seconds)

    def wait(self, done, seconds: float = 120) -> dict:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            status = self.get("/api/status")
            if done(status):
                return status
            time.sleep(0.1)
        raise AssertionError(f"waited {seconds} s in vain: {status}")


class LocalServer(Client):
    """A server in this process, without a socket, and without the process that learns."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.process = folder, psutil.Process()
        self.desk = TaggingServer(folder)
        self.desk.imports.start()
        self.client = TestClient(
            make_app(self.desk),
            base_url="http://localhost",
            client=("127.0.0.1", 5000),
            follow_redirects=False,
        )

    def close(self) -> None:
        """End the threads of the server."""
        self.client.close()
        self.desk.close()


class Server(Client):
    """A process that runs `simlabel serve`."""

    def __init__(
        self,
        folder: Path,
        *options: str,
        env: dict[str, str] | None = None,
        main: str = MAIN,
        **popen: object,
    ) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-c", main, "serve", str(folder), "--port", "0", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | (env or {}),
            **popen,
        )
        line = self.process.stdout.readline()
        if " is at " not in line:
            raise RuntimeError(self.process.communicate()[1])
        self.address = line.split(" is at ")[1].split()[0]
        self.client = httpx.Client(base_url=self.address, timeout=60)
        self.up()

    def up(self) -> None:
        for _ in range(600):
            try:
                if self.client.get("/healthz").status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
        raise RuntimeError("the server does not answer")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self._close()

    def end(self) -> tuple[int, str]:
        """End the process as Ctrl-C does; return its exit code and stderr."""
        self.process.send_signal(signal.SIGINT)
        said = self.process.communicate(timeout=60)[1]
        self._close()
        return self.process.returncode, said

    def _close(self) -> None:
        self.client.close()
        self.process.stdout.close()
        self.process.stderr.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.kill()


TABLES = {
    "items": "id, name, content, status, actor, at, revision, automatic",
    "tags": "item, label, state, source, actor, at, probability",
    "labels": "id, name, description, deleted",
    "tokens": "id, name, role, hash, revoked",
}


def tables(db: sqlite3.Connection) -> dict[str, list[tuple]]:
    return {
        name: [tuple(row) for row in db.execute(f"SELECT {columns} FROM {name} ORDER BY 1, 2")]
        for name, columns in TABLES.items()
    }


def opened(folder: Path) -> sqlite3.Connection:
    db = sqlite3.connect(folder / "desk.sqlite")
    db.row_factory = sqlite3.Row
    return db


def assert_journal_is_the_truth(folder: Path, scratch: Path) -> None:
    """Check that applying the journal to an empty store gives the tables."""
    scratch.unlink(missing_ok=True)
    create_store(scratch)
    fresh = sqlite3.connect(scratch)
    store = opened(folder)
    try:
        assert store.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        for row in store.execute("SELECT seq, kind, changes, undoes FROM journal ORDER BY seq"):
            apply_changes(fresh, row["seq"], row["kind"], json.loads(row["changes"]), row["undoes"])
        assert tables(fresh) == tables(store)
    finally:
        store.close()
        fresh.close()


def snapshot_of(folder: Path) -> Tagger:
    (path,) = (folder / "models").iterdir()
    model = load(path)
    assert isinstance(model, Tagger)
    return model


def lessons_of(folder: Path) -> dict[int, tuple[dict, set[str]]]:
    """Return the content and label ids of the done items, by SQL only."""
    db = opened(folder)
    try:
        found = {
            row["id"]: (json.loads(row["content"]), set())
            for row in db.execute("SELECT id, content FROM items WHERE status = 'done'")
        }
        for row in db.execute("SELECT item, label FROM tags WHERE state = 'present'"):
            if row["item"] in found:
                found[row["item"]][1].add(str(row["label"]))
    finally:
        db.close()
    return found


def assert_model_is_a_fresh_fit(folder: Path) -> None:
    """Check that the label weights of the snapshot equal those of a new fit with the same parameters."""
    model, labeled_items = snapshot_of(folder), lessons_of(folder)
    assert sorted(model.ids_.tolist()) == sorted(labeled_items)
    columns, order = model.feature_names_in_.tolist(), model.ids_.tolist()
    requested = [made_row(random.Random(seed))[0] for seed in range(20)]

    def encoded(contents):  # term weights are resolved parameters
        rows = [{name: content.get(name) for name in columns} for content in contents]
        return model.encoder_.encode(model.encoder_.aligned(table_cells(rows)))

    fresh = SMLClassifier(model.similarity_, normalizer=None, influence=model.influence_)
    fresh.fit(encoded([labeled_items[i][0] for i in order]), [labeled_items[i][1] for i in order])
    rows = [{name: content.get(name) for name in columns} for content in requested]
    mine, theirs = model.label_weights(rows), fresh.label_weights(encoded(requested))
    known = fresh.classes_.tolist()
    assert set(known) <= set(model.classes_.tolist())
    for k, label in enumerate(model.classes_.tolist()):
        wanted = theirs[:, known.index(label)] if label in known else np.zeros(len(requested))
        np.testing.assert_allclose(mine[:, k], wanted, rtol=1e-5, atol=1e-6)


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def raw_request(address: str, data: bytes) -> bytes:
    """Return the response to some bytes, until the server closes the connection."""
    host, port = address.removeprefix("http://").strip("/").rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(data)
        found = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := connection.recv(65536):
                found += piece
        return found
