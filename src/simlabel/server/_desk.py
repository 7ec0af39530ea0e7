"""A desk: the store, the model that follows it, and what people and programs ask of them together."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

from simlabel.server import _views as views
from simlabel.server._changes import accept, forget_item
from simlabel.server._following import Follower
from simlabel.server._insights import why
from simlabel.server._journal import By
from simlabel.server._kinds import Limit, Name
from simlabel.server._people import People, Person
from simlabel.server._predicting import Predictor
from simlabel.server._problems import Conflict, NotFound
from simlabel.server._schema import Places, locked
from simlabel.server._store import DeskStore
from simlabel.server._teaching import position_of
from simlabel.server._transfer import Imports

_KEPT_ANSWERS = 86400.0  # seconds for which a repeated request gets the first answer
_SHOWN = 8  # suggestions of an item
_FAINT = 0.05  # probability below which nothing is suggested
_PAGE = 200


@dataclass(frozen=True)
class Once:
    """A request that may come twice: digests of its key and of what was sent, which are no content."""

    key: str
    digest: str

    @classmethod
    def of(cls, key: str, *request: bytes) -> Once:
        """The key of a request, and what tells it from others: method, path, query and body."""
        return cls(_digest(key.encode()), _digest(*request))

    def with_body(self, digest: bytes) -> Once:
        """The same with a body that was read meanwhile."""
        return Once.of(self.key, self.digest.encode(), digest)

    def answered(self, by: By, make: Callable[[], Any]) -> Any:
        """The answer that it got the first time; or what is made now, which is kept."""
        query = "SELECT digest, body FROM answers WHERE actor = ? AND key = ? AND at >= ?"
        row = by.one(query, by.actor, self.key, by.at - _KEPT_ANSWERS)
        if row is None:
            return self._made(by, make())
        if row["body"] is None:
            raise Conflict("This request was answered, and an item of it was forgotten since: use a new key.")
        if row["digest"] not in (None, self.digest):
            raise Conflict("This idempotency key was used for another request; use a new one for each.")
        return json.loads(row["body"])

    def _made(self, by: By, answer: Any) -> Any:
        if by.db.execute("DELETE FROM answers WHERE at < ?", (by.at - _KEPT_ANSWERS,)).rowcount:
            by.db.execute("DELETE FROM answered WHERE answer NOT IN (SELECT id FROM answers)")
        values = (by.actor, self.key, self.digest, json.dumps(answer, default=vars), by.at)
        query = "INSERT INTO answers (actor, key, digest, body, at) VALUES (?, ?, ?, ?, ?)"
        number = by.db.execute(query, values).lastrowid
        about = [(item, number) for item in by.items]
        by.db.executemany("INSERT INTO answered (item, answer) VALUES (?, ?)", about)
        return answer


class Desk:
    """An open folder."""

    def __init__(self, path: str | os.PathLike[str], accept_above: float | None = None) -> None:
        self.places, self.accept_above = Places.of(path), accept_above
        self._lock = locked(self.places.store)
        try:
            self.store = DeskStore(self.places)
            if not self.store.read_only:
                self.places.make()
        except BaseException:
            self._lock.close()
            raise
        self.people = People(self.store)
        self.predictor = Predictor(self.store, self.learns_first_model)
        self.follower = Follower(self.store, self.predictor, self._accept)
        self.imports = Imports(self.store, self.follower.notice)

    def start(self) -> None:
        """Begin to learn, and go on with imports."""
        self.follower.start()
        self.imports.start()

    def close(self) -> None:
        """End everything in order."""
        for part in (self.imports, self.follower, self.predictor, self.store, self._lock):
            part.close()

    def change(self, person: Person, make: Callable[[By], Any], once: Once | None = None) -> Future[Any]:
        """Have something changed; the future has the answer when it is on disk."""

        def work(db: sqlite3.Connection) -> Any:
            by = By(db, person.name, self.store.clock(), person.role)
            return make(by) if once is None else once.answered(by, lambda: make(by))

        done = self.store.write(work)
        done.add_done_callback(lambda _: self.predictor.notice())
        done.add_done_callback(lambda _: self.follower.notice())
        return done

    def forget(self, person: Person, number: int, seconds: float) -> dict[str, Any]:
        """Forget an item; whether every trace is gone within so many seconds, and else what remains.

        Numbers, dates and names of columns go with the next model, which is fitted at once.
        """
        self.change(person, lambda by: forget_item(by, number)).result()
        gone = "SELECT erased, remains FROM forgotten WHERE item = ?"
        self.follower.wait_for(lambda: bool(self.store.rows(gone, number)[0]["erased"]), seconds)
        (row,) = self.store.rows(gone, number)
        return {"erased": bool(row["erased"]), "remains": [] if row["erased"] else json.loads(row["remains"])}

    def problems(self) -> list[str]:
        """What keeps the server from its work; nothing where all is well."""
        problems = self.store.problems()
        if self.store.clock.behind > 60:
            problems.append(f"The machine's clock is {self.store.clock.behind:.0f} s behind the journal.")
        if self.follower.state["problem"]:
            problems.append("The model could not follow; GET /api/status says why.")
        return problems

    def with_suggestions(self, items: list[views.View]) -> list[views.View]:
        """Items with labels that are suggested and that nobody has said anything about."""
        if self.predictor.published is None or not items:
            return [{**item, "suggestions": []} for item in items]
        limit = _SHOWN + max(len(item["tags"]) for item in items)
        found = self.predictor.suggest([item["content"] for item in items], limit, _FAINT).result().results
        for item, suggested in zip(items, found, strict=True):
            settled = {tag["label"] for tag in item["tags"]}
            item["suggestions"] = [one for one in suggested if one["label"] not in settled][:_SHOWN]
        return items

    def item(self, number: int) -> views.View:
        """An item with its tags and with suggestions."""
        return self.with_suggestions([self.store.read(views.item_view, number)])[0]

    def queue(self, limit: Limit = 20) -> list[views.View]:
        """Waiting items, most useful first, with suggestions."""
        order = self.follower.insights["order"]
        return self.with_suggestions(self.store.read(views.waiting_items, order, limit))

    def labels(self) -> list[views.View]:
        """All labels with how often they are used and how well they are recognised."""
        quality = self.follower.insights["quality"] or {}
        return self.store.read(views.label_views, quality.get("by_label", {}))

    def explain(self, number: int, label: Name) -> views.View:
        """Labelled items and words that speak for a label of an item, or against it."""
        from simlabel.model.inspection import shared_words

        model = self.predictor.current().model
        content = self.store.read(views.item_view, number)["content"]
        numbers = {name: key for key, name in self.store.remembered(views.label_names).items()}
        found = why(model, content, numbers.get(label, 0))
        if found is None:
            raise NotFound(f"The model knows no label {label!r}: no item that is done has it.")
        telling, items = [word["term"] for word in found["words"]], []
        for one in found["items"]:
            for view in self.store.read(views.item_views, [one["item"]] if one["item"] != number else []):
                shared = shared_words(content, view["content"], telling)
                items.append(one | {"title": view["title"], "shared": shared})
        return found | {"label": label, "items": items}

    def cancel_import(self, number: int) -> views.View:
        """Cancel an import that is waiting or under way; the rows that are in stay."""
        self.store.read(views.job, number)
        self.imports.cancel(number)
        return self.store.read(views.job, number)

    def suspicious(self, limit: Limit = 50) -> views.View:
        """Tags that the other items contradict: probably wrong, or probably missing.

        Those that somebody has looked at meanwhile are left out.
        """
        insights, found = self.follower.insights, list[views.View]()
        with self.store.reading() as db:
            names = views.label_names(db)
            for one in insights["suspicious"]:
                label = names.get(one["label"])
                for item in views.item_views(db, [one["item"]] if label and len(found) < limit else []):
                    states = {tag["state"] for tag in item["tags"] if tag["label"] == label}
                    if states == ({"present"} if one["given"] else set()):
                        found.append({**one, "title": item["title"], "label": label})
        return {"position": insights.get("quality_position"), "suspicious": found}

    def quality(self) -> views.View:
        """Leave-one-out figures, calibration, and what changed."""
        with self.store.reading() as db:
            over_time, week = views.quality_over_time(db, 200), views.week(db, self.store.clock())
        return {"now": self.follower.insights["quality"], "over_time": over_time, "week": week}

    def learns_first_model(self) -> bool:
        """Whether there is no model so far, but imports or items that are done will give one."""
        if self.predictor.published is not None or self.store.read_only:
            return False
        position, imports, enough = self.store.remembered(views.prospects)
        return imports or (enough and position > self.follower.state["position"])

    def retune(self) -> bool:
        """Choose all values of the model anew; the old one answers until that is done."""
        self.predictor.current()
        return self.follower.retune()

    def status(self) -> dict[str, Any]:
        """How the desk is, and what it is doing."""
        with self.store.reading() as db:
            items, position = views.counts(db), position_of(db)
            (erasing,) = db.execute("SELECT count(*) FROM forgotten WHERE NOT erased").fetchone()
        state = dict(self.follower.state)
        return {
            "items": items,
            "position": position,
            "model_position": state.pop("position"),
            "model": self.predictor.published is not None,
            **state,
            "read_only": self.store.read_only,
            "clock_behind": round(self.store.clock.behind),
            "erasing": erasing,
            "accept_above": self.accept_above,
        }

    def _accept(self) -> None:
        """Where that was asked for, give waiting items the tags that are beyond doubt, once each."""
        last, query = 0, "SELECT id FROM items WHERE status = 'waiting' AND NOT automatic AND id > ? "
        while self.accept_above is not None:
            rows = self.store.rows(query + "ORDER BY id LIMIT ?", last, _PAGE)
            if not rows:
                return
            last = rows[-1]["id"]
            items = self.store.read(views.item_views, [row["id"] for row in rows])
            for item in self.with_suggestions(items):
                told = [(one["label"], one["probability"]) for one in item["suggestions"]]
                sure = [pair for pair in told if pair[1] >= self.accept_above]
                if sure:
                    person = Person("simlabel", "tagging")
                    self.change(person, partial(accept, number=item["id"], sure=sure)).result()


def _digest(*parts: bytes) -> str:
    """A digest in which no part runs into the next."""
    found = hashlib.sha256()
    for part in parts:
        found.update(b"%d:" % len(part) + part)
    return found.hexdigest()
