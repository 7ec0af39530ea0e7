"""A desk: the store, the model that follows it, and what people and programs ask of them together."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from simlabel.desk import _views as views
from simlabel.desk._changes import Who, forget_item, lease_first, set_tag
from simlabel.desk._following import Follower
from simlabel.desk._imports import Imports
from simlabel.desk._journal import undo
from simlabel.desk._lock import FolderLock
from simlabel.desk._people import People, Person
from simlabel.desk._predicting import Predictor, Published, Suggestion
from simlabel.desk._problems import Conflict
from simlabel.desk._schema import Places
from simlabel.desk._store import DeskStore

Make = Callable[[sqlite3.Connection, Who], Any]
_KEPT_ANSWERS = 86400.0  # seconds for which a repeated request gets the first answer
_SHOWN = 8  # suggestions of an item
_FAINT = 0.05  # probability below which nothing is suggested


@dataclass(frozen=True)
class Once:
    """A request that may come twice, by the key that its sender gave it."""

    key: str
    digest: str

    @classmethod
    def of(cls, key: str, *request: bytes) -> Once:
        """The key of a request, and what tells it from others."""
        return cls(key, hashlib.sha256(b"\0".join(request)).hexdigest())


class Desk:
    """An open folder."""

    def __init__(self, path: str | os.PathLike[str], accept_above: float | None = None) -> None:
        self.places, self.accept_above = Places.of(path), accept_above
        self._lock = FolderLock(self.places.lock)
        try:
            self.store = DeskStore(self.places)
        except BaseException:
            self._lock.release()
            raise
        self.people = People(self.store)
        self.predictor = Predictor()
        self.follower = Follower(self.store, self.predictor)
        self.follower.after_publishing = self._accept
        self.imports = Imports(self.store, self.follower.notice)

    def start(self) -> None:
        """Begin to learn, and go on with imports."""
        self.follower.start()
        self.imports.start()

    def close(self) -> None:
        """End everything in order."""
        self.imports.close()
        self.follower.close()
        self.predictor.close()
        self.store.close()
        self._lock.release()

    # changes

    def change(self, person: Person, make: Make, once: Once | None = None) -> Future[Any]:
        """Have something changed; the future has the answer when it is on disk."""

        def work(db: sqlite3.Connection) -> Any:
            who = Who(person.name, self.store.clock())
            known = None if once is None else _answered(db, who, once)
            if known is not None:
                return json.loads(known)
            answer = make(db, who)
            if once is not None:
                db.execute("DELETE FROM answers WHERE at < ?", (who.at - _KEPT_ANSWERS,))
                values = (who.actor, once.key, once.digest, json.dumps(answer), who.at)
                db.execute("INSERT INTO answers VALUES (?, ?, ?, ?, ?)", values)
            return answer

        done = self.store.write(work)
        done.add_done_callback(lambda _: self.follower.notice())
        return done

    def undo_last(self, db: sqlite3.Connection, who: Who) -> int:
        """Undo what this person did last and has not undone."""
        row = db.execute(
            "SELECT seq FROM journal WHERE actor = ? AND undone_by IS NULL "
            "AND kind NOT IN ('undo', 'forget', 'token') AND changes <> '[]' ORDER BY seq DESC LIMIT 1",
            (who.actor,),
        ).fetchone()
        if row is None:
            raise Conflict("There is nothing of yours to undo.")
        return undo(db, who.at, who.actor, row["seq"])

    def forget(self, person: Person, number: int, seconds: float) -> bool:
        """Forget an item; whether every trace is gone within so many seconds, as it is sooner or later."""
        self.change(person, lambda db, who: forget_item(db, who, number)).result()
        gone = "SELECT 1 FROM forgotten WHERE item = ? AND erased"
        return self.follower.wait_for(lambda: bool(self.store.rows(gone, (number,))), seconds)

    def lease_next(self, db: sqlite3.Connection, who: Who, skip: Sequence[int]) -> int | None:
        """Give somebody the most useful item that nobody is at."""
        return lease_first(db, who, self.follower.insights["order"], skip)

    # questions

    def with_suggestions(self, items: list[views.View]) -> list[views.View]:
        """Items with labels that the model suggests and nobody has said anything about."""
        if self.predictor.published is None:
            return [{**item, "suggestions": []} for item in items]
        found = self.predictor.suggest([item["content"] for item in items]).result()
        names = self.label_names()
        return [
            {**item, "suggestions": self.named(suggested, names, {tag["label"] for tag in item["tags"]})}
            for item, suggested in zip(items, found, strict=True)
        ]

    def label_names(self) -> dict[int, str]:
        """Names of labels by their numbers."""
        with self.store.reading() as db:
            return views.label_names(db)

    @staticmethod
    def named(
        suggested: Sequence[Suggestion],
        names: dict[int, str],
        settled: set[str],
        limit: int = _SHOWN,
        threshold: float = _FAINT,
    ) -> list[dict[str, Any]]:
        """Suggestions by name, without what is settled."""
        shown = []
        for each in suggested:
            name = names.get(each.label)
            if name is not None and name not in settled and (each.chosen or each.probability >= threshold):
                shown.append({"label": name, "probability": each.probability, "chosen": each.chosen})
        return shown[:limit]

    def status(self) -> dict[str, Any]:
        """How the desk is."""
        with self.store.reading() as db:
            found = views.counts(db)
            (position,) = db.execute("SELECT coalesce(max(seq), 0) FROM journal").fetchone()
            (erasing,) = db.execute("SELECT count(*) FROM forgotten WHERE NOT erased").fetchone()
        state = self.follower.state
        return {
            "items": found,
            "position": position,
            "model_position": state["position"],
            "model": self.predictor.published is not None,
            "rows": state["rows"],
            "learning": state["learning"],
            "retuning": state["retuning"],
            "progress": state["progress"],
            "problem": state["problem"],
            "read_only": self.store.read_only,
            "clock_behind": round(self.store.clock.behind),
            "erasing": erasing,
            "accept_above": self.accept_above,
        }

    def _accept(self, published: Published) -> None:
        """Where that was asked for, give waiting items the tags that are beyond doubt, once each."""
        if self.accept_above is None:
            return
        last = 0
        while True:
            rows = self.store.rows(
                "SELECT id FROM items WHERE status = 'waiting' AND NOT automatic AND id > ? "
                "ORDER BY id LIMIT 200",
                (last,),
            )
            if not rows:
                return
            last = rows[-1]["id"]
            with self.store.reading() as db:
                items = views.item_views(db, [row["id"] for row in rows])
            for item in self.with_suggestions(items):
                sure = [one for one in item["suggestions"] if one["probability"] >= self.accept_above]
                if sure:
                    self.store.wrote(_Accepted(item["id"], sure, self.store.clock()))


@dataclass(frozen=True)
class _Accepted:
    """Tags that an item gets by itself; one that somebody has touched, or is at, is left alone."""

    item: int
    sure: list[dict[str, Any]]
    at: float

    def __call__(self, db: sqlite3.Connection) -> None:
        who = Who("simlabel", self.at)
        for one in self.sure:
            known = db.execute(
                "SELECT 1 FROM tags t JOIN labels l ON l.id = t.label WHERE t.item = ? AND l.name = ?",
                (self.item, one["label"]),
            ).fetchone()
            held = db.execute(
                "SELECT 1 FROM leases WHERE item = ? AND until > ?", (self.item, self.at)
            ).fetchone()
            there = db.execute(
                "SELECT 1 FROM items WHERE id = ? AND status = 'waiting'", (self.item,)
            ).fetchone()
            if there and not known and not held:
                set_tag(db, who, self.item, one["label"], "present", "automatic", one["probability"])


def _answered(db: sqlite3.Connection, who: Who, once: Once) -> str | None:
    row = db.execute(
        "SELECT digest, body FROM answers WHERE actor = ? AND key = ?", (who.actor, once.key)
    ).fetchone()
    if row is None:
        return None
    if row["digest"] != once.digest:
        raise Conflict("This idempotency key was used for another request; use a new one for each.")
    return str(row["body"])
