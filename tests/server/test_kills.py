"""Kills at random times under load: acknowledged changes are stored, and none is stored in part."""

from __future__ import annotations

import random
import threading
import time

import httpx
import pytest
from desk_support import (
    Server,
    assert_journal_is_the_truth,
    assert_model_is_a_fresh_fit,
    made_items,
    opened,
)

LABELS = ("horror", "romance", "crime", "space", "new one", "another")


class Worker(threading.Thread):
    """Changes its own items until the server is killed, and remembers the acknowledged changes.

    `tags` and `status` are the acknowledged state; `pending` is the last change without an answer, which may
    be stored or not, but only as a whole.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number, self.rng = number, random.Random(number)
        self.items: list[int] = []
        self.tags: dict[tuple[int, str], str | None] = {}
        self.status: dict[int, str] = {}
        self.pending: tuple | None = None
        self.rounds = self.acknowledged = self.seqs = 0
        self.client: httpx.Client | None = None

    def work(self, address: str) -> None:
        self.pending = None
        try:
            with httpx.Client(base_url=address, timeout=30) as self.client:
                while True:
                    self._one()
        except httpx.TransportError:
            pass

    def _one(self) -> None:
        if len(self.items) < 3 or self.rng.random() < 0.2:
            self.rounds += 1
            # names that no other worker uses
            (item,) = made_items(1, 1_000_000 * self.number + self.rounds)
            item |= {"done": False, "tags": item["tags"]}
            self.pending = ("add", item)
            (number,) = self._sent("/api/items", {"items": [item]})["ids"]
            self.items.append(number)
            self.status[number] = "waiting"
            self.tags |= {(number, tag): "present" for tag in item["tags"]}
            return
        number, label = self.rng.choice(self.items), self.rng.choice(LABELS)
        what = self.rng.choice(["tags", "reject", "clear", "done", "reopen"])
        if what in ("done", "reopen"):
            after = {"done": "done", "reopen": "waiting"}[what]
            self.pending = ("status", number, self.status[number], after)
            self._sent(f"/api/items/{number}/{what}", {})
            self.status[number] = after
        else:
            after = {"tags": "present", "reject": "rejected", "clear": None}[what]
            self.pending = ("tag", (number, label), self.tags.get((number, label)), after)
            self._sent(f"/api/items/{number}/{what}", {"label": label})
            self.tags[number, label] = after

    def _sent(self, path: str, body: object) -> dict:
        answer = self.client.post(path, json=body)
        while answer.status_code == 429:  # the rate limit
            time.sleep(0.3)
            answer = self.client.post(path, json=body)
        assert answer.status_code < 300, answer.text
        self.acknowledged += 1
        return answer.json()

    def check(self, db) -> None:
        """Compare with the store: all acknowledged changes, and the last change as a whole or not at all."""
        pending = self.pending or ("none",)
        for number, status in self.status.items():
            (found,) = db.execute("SELECT status FROM items WHERE id = ?", (number,)).fetchone()
            may = {status} | ({pending[3]} if pending[0] == "status" and pending[1] == number else set())
            assert found in may
            self.status[number] = found
        rows = db.execute("SELECT t.item, l.name, t.state FROM tags t JOIN labels l ON l.id = t.label")
        found = {(item, name): state for item, name, state in rows if item in self.status}
        for key in {*self.tags, *found}:
            may = {self.tags.get(key)} | ({pending[3]} if pending[:2] == ("tag", key) else set())
            assert found.get(key) in may, key
            self.tags[key] = found.get(key)
        if pending[0] == "add":  # stored with all its tags, or not at all
            row = db.execute("SELECT id FROM items WHERE name = ?", (pending[1]["name"],)).fetchone()
            if row is not None and row["id"] not in self.status:
                number = row["id"]
                tags = {
                    name
                    for (name,) in db.execute(
                        "SELECT l.name FROM tags t JOIN labels l ON l.id = t.label WHERE t.item = ?",
                        (number,),
                    )
                }
                assert tags == set(pending[1]["tags"])
                self.items.append(number)
                self.status[number] = "waiting"
                self.tags |= {(number, tag): "present" for tag in tags}


def killed(folder, scratch, times: int, seed: int) -> None:
    rng, workers = random.Random(seed), [Worker(number) for number in (1, 2)]
    for turn in range(times):
        server = Server(folder)
        threads = [threading.Thread(target=worker.work, args=(server.address,)) for worker in workers]
        for thread in threads:
            thread.start()
        # every seventh time long enough to write the model
        time.sleep(rng.uniform(0.02, 0.5) if turn % 7 else rng.uniform(4, 8))
        server.kill()
        for thread in threads:
            thread.join()
        db = opened(folder)
        for worker in workers:
            worker.check(db)
        db.close()
        assert_journal_is_the_truth(folder, scratch)
    assert sum(worker.acknowledged for worker in workers) > times
    with Server(folder) as server:
        server.post("/api/items", {"items": made_items(30, seed=7)})
        server.wait_for_model()
        assert server.end()[0] == 0
    assert_journal_is_the_truth(folder, scratch)
    assert_model_is_a_fresh_fit(folder)


def test_a_few_kills(tmp_path):
    killed(tmp_path / "desk", tmp_path / "again.sqlite", 4, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_two_hundred_kills(tmp_path):
    killed(tmp_path / "desk", tmp_path / "again.sqlite", 200, seed=2)
