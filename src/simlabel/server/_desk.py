"""The tagging server's state: the store, the model that follows it, and the operations on both."""

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
from simlabel.server._journal import ChangeContext, position_of
from simlabel.server._model import why
from simlabel.server._predicting import Predictor
from simlabel.server._schema import StorePaths, locked
from simlabel.server._store import ServerStore
from simlabel.server._transfer import Imports
from simlabel.server._types import Conflict, Limit, Name, NotFound, View
from simlabel.server._updater import ModelUpdater
from simlabel.server._users import User, UserStore

_ANSWER_CACHE_SECONDS = 86400.0  # seconds for which a repeated request gets the first answer
_SHOWN = 8  # suggestions of an item
_FAINT = 0.05  # probability below which nothing is suggested
_PAGE = 200


@dataclass(frozen=True)
class IdempotentRequest:
    """An idempotent request: digests of its key and of its content, from which neither can be read."""

    key: str
    digest: str

    @classmethod
    def of(cls, key: str, *request: bytes) -> IdempotentRequest:
        """Create one from the key and the parts of the request: method, path, query and body."""
        return cls(_digest(key.encode()), _digest(*request))

    def with_body(self, digest: bytes) -> IdempotentRequest:
        """Return a copy that includes the digest of a streamed body."""
        return IdempotentRequest.of(self.key, self.digest.encode(), digest)

    def answered(self, by: ChangeContext, make: Callable[[], Any]) -> Any:
        """Return the stored answer of the first request; if there is none, make the change and store it."""
        query = "SELECT digest, body FROM answers WHERE actor = ? AND key = ? AND at >= ?"
        row = by.one(query, by.actor, self.key, by.at - _ANSWER_CACHE_SECONDS)
        if row is None:
            return self._store(by, make())
        if row["body"] is None:
            raise Conflict(
                "This request was answered before, and one of its items was forgotten since: use a new key."
            )
        if row["digest"] not in (None, self.digest):
            raise Conflict("This idempotency key was used for another request: use a new key for each.")
        return json.loads(row["body"])

    def _store(self, by: ChangeContext, answer: Any) -> Any:
        if by.db.execute("DELETE FROM answers WHERE at < ?", (by.at - _ANSWER_CACHE_SECONDS,)).rowcount:
            by.db.execute("DELETE FROM answered WHERE answer NOT IN (SELECT id FROM answers)")
        values = (by.actor, self.key, self.digest, json.dumps(answer, default=vars), by.at)
        query = "INSERT INTO answers (actor, key, digest, body, at) VALUES (?, ?, ?, ?, ?)"
        number = by.db.execute(query, values).lastrowid
        rows = [(item, number) for item in by.items]
        by.db.executemany("INSERT INTO answered (item, answer) VALUES (?, ?)", rows)
        return answer


class TaggingServer:
    """An open folder with its threads and processes."""

    def __init__(self, path: str | os.PathLike[str], accept_above: float | None = None) -> None:
        self.places, self.accept_above = StorePaths.of(path), accept_above
        self._lock = locked(self.places.store)
        try:
            self.store = ServerStore(self.places)
            if not self.store.read_only:
                self.places.make()
        except BaseException:
            self._lock.close()
            raise
        self.people = UserStore(self.store)
        self.predictor = Predictor(self.store, self.learns_first_model)
        self.updater = ModelUpdater(self.store, self.predictor, self._accept)
        self.imports = Imports(self.store, self.updater.notice)

    def start(self) -> None:
        """Start training and resume imports."""
        self.updater.start()
        self.imports.start()

    def close(self) -> None:
        """Close all parts in order."""
        for part in (self.imports, self.updater, self.predictor, self.store, self._lock):
            part.close()

    def change(
        self, user: User, make: Callable[[ChangeContext], Any], once: IdempotentRequest | None = None
    ) -> Future[Any]:
        """Make a change; the future has its result once it is on disk."""

        def work(db: sqlite3.Connection) -> Any:
            by = ChangeContext(db, user.name, self.store.clock(), user.role)
            return make(by) if once is None else once.answered(by, lambda: make(by))

        done = self.store.write(work)
        done.add_done_callback(lambda _: self.predictor.notice())
        done.add_done_callback(lambda _: self.updater.notice())
        return done

    def forget(self, user: User, number: int, seconds: float) -> dict[str, Any]:
        """Forget an item; return whether all traces were erased within some seconds, else what remains.

        Numbers, dates and column names are erased with the next model, whose fit starts at once.
        """
        self.change(user, lambda by: forget_item(by, number)).result()
        query = "SELECT erased, remains FROM forgotten WHERE item = ?"
        self.updater.wait_for(lambda: bool(self.store.rows(query, number)[0]["erased"]), seconds)
        (row,) = self.store.rows(query, number)
        return {"erased": bool(row["erased"]), "remains": [] if row["erased"] else json.loads(row["remains"])}

    def problems(self) -> list[str]:
        """Return the problems that keep the server from working."""
        problems = self.store.problems()
        if self.store.clock.behind > 60:
            problems.append(f"The system clock is {self.store.clock.behind:.0f} s behind the journal.")
        if self.updater.state["problem"]:
            problems.append("The model could not be updated: see GET /api/status.")
        return problems

    def with_suggestions(self, items: list[View]) -> list[View]:
        """Return items with suggested labels, except for labels that they have or that were rejected."""
        if self.predictor.published is None or not items:
            return [{**item, "suggestions": []} for item in items]
        limit = _SHOWN + max(len(item["tags"]) for item in items)
        found = self.predictor.suggest([item["content"] for item in items], limit, _FAINT).result().results
        for item, suggested in zip(items, found, strict=True):
            tagged = {tag["label"] for tag in item["tags"]}
            item["suggestions"] = [one for one in suggested if one["label"] not in tagged][:_SHOWN]
        return items

    def item(self, number: int) -> View:
        """Return an item with its tags and suggestions."""
        return self.with_suggestions([self.store.read(views.item_view, number)])[0]

    def queue(self, limit: Limit = 20) -> list[View]:
        """Return waiting items with suggestions, the most useful first."""
        order = self.updater.insights["order"]
        return self.with_suggestions(self.store.read(views.waiting_items, order, limit))

    def labels(self) -> list[View]:
        """Return all labels with their frequency and leave-one-out F1."""
        quality = self.updater.insights["quality"] or {}
        return self.store.read(views.label_views, quality.get("by_label", {}))

    def explain(self, number: int, label: Name) -> View:
        """Return labeled items and words for or against a label of an item."""
        from simlabel.model.inspection import shared_words

        model = self.predictor.current().model
        content = self.store.read(views.item_view, number)["content"]
        numbers = {name: key for key, name in self.store.cached_query(views.label_names).items()}
        found = why(model, content, numbers.get(label, 0))
        if found is None:
            raise NotFound(f"The model does not know the label {label!r}: no item that is done has it.")
        salient, items = [word["term"] for word in found["words"]], []
        for one in found["items"]:
            for view in self.store.read(views.item_views, [one["item"]] if one["item"] != number else []):
                shared = shared_words(content, view["content"], salient)
                items.append(one | {"title": view["title"], "shared": shared})
        return found | {"label": label, "items": items}

    def cancel_import(self, number: int) -> View:
        """Cancel an import that is waiting or running; its stored rows stay."""
        self.store.read(views.job, number)
        self.imports.cancel(number)
        return self.store.read(views.job, number)

    def suspicious(self, limit: Limit = 50) -> View:
        """Return tags that are probably wrong or missing, judged by the other items.

        Tags that were changed since the measurement are skipped.
        """
        insights, found = self.updater.insights, list[View]()
        with self.store.reading() as db:
            names = views.label_names(db)
            for one in insights["suspicious"]:
                label = names.get(one["label"])
                for item in views.item_views(db, [one["item"]] if label and len(found) < limit else []):
                    states = {tag["state"] for tag in item["tags"] if tag["label"] == label}
                    if states == ({"present"} if one["given"] else set()):
                        found.append({**one, "title": item["title"], "label": label})
        return {"position": insights.get("quality_position"), "suspicious": found}

    def quality(self) -> View:
        """Return leave-one-out metrics, calibration, and recent changes."""
        with self.store.reading() as db:
            over_time, week = views.quality_over_time(db, 200), views.week(db, self.store.clock())
        return {"now": self.updater.insights["quality"], "over_time": over_time, "week": week}

    def learns_first_model(self) -> bool:
        """Return whether there is no model yet, but imports or done items will give one."""
        if self.predictor.published is not None or self.store.read_only:
            return False
        position, imports, enough = self.store.cached_query(views.prospects)
        return imports or (enough and position > self.updater.state["position"])

    def retune(self) -> bool:
        """Select all parameters of the model again; the old model answers meanwhile."""
        self.predictor.current()
        return self.updater.retune()

    def status(self) -> dict[str, Any]:
        """Return the state of the server and what it is doing."""
        with self.store.reading() as db:
            items, position = views.counts(db), position_of(db)
            (erasing,) = db.execute("SELECT count(*) FROM forgotten WHERE NOT erased").fetchone()
        state = dict(self.updater.state)
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
        """If `accept_above` is set, add sufficiently probable suggestions to waiting items, once per item."""
        last, user = 0, User("simlabel", "tagging")
        query = (
            "SELECT id FROM items WHERE status = 'waiting' AND NOT automatic AND id > ? ORDER BY id LIMIT ?"
        )
        while self.accept_above is not None:
            rows = self.store.rows(query, last, _PAGE)
            if not rows:
                return
            last = rows[-1]["id"]
            items = self.store.read(views.item_views, [row["id"] for row in rows])
            for item in self.with_suggestions(items):
                pairs = [(one["label"], one["probability"]) for one in item["suggestions"]]
                sure = [pair for pair in pairs if pair[1] >= self.accept_above]
                if sure:
                    self.change(user, partial(accept, number=item["id"], sure=sure)).result()


def _digest(*parts: bytes) -> str:
    """Return a digest of parts in which their boundaries count."""
    found = hashlib.sha256()
    for part in parts:
        found.update(b"%d:" % len(part) + part)
    return found.hexdigest()
