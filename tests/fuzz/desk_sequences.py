"""Sequences of what people do at a tagging server, in any order, against a plain model of it.

The plain model is a dict of facts and, for each change, the facts that differ: an undo is possible if they
are all as the change left them, and then sets them back.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
from desk_support import assert_journal_is_the_truth

from simlabel.server import (
    ChangeContext,
    ServerError,
    ServerStore,
    StorePaths,
    backup,
    changes,
    export_items,
    undo,
    views,
)

SECONDS = 20.0
STEPS = 40
NAMES = ("horror", "romance", "  crime ", "Übersee", "space")
PEOPLE = (("Ada", "administration"), ("Bo", "tagging"), ("Cy", "tagging"), ("Eve", "reading"))
KINDS = ("add", "add", "tag", "tag", "tag", "status", "rename", "merge", "delete", "undo", "undo", "undo")
KINDS += ("label", "forget", "lease", "edit", "reopen the store", "undo last")

LABEL = ("label", "deleted")  # kinds of facts about labels

Facts = dict[tuple[Any, ...], Any]


def warm() -> None:
    """Nothing is shared."""


def case(material: None, seed: int) -> None:
    """Some steps, each of which is checked."""
    run = _Run(np.random.default_rng(seed), Path.cwd() / "desk")
    try:
        for _ in range(STEPS):
            run.step()
    finally:
        run.store.close()
    assert_journal_is_the_truth(run.folder, Path.cwd() / "again.sqlite")
    backup(run.folder, Path.cwd() / "copy.slb")
    copied = ServerStore(StorePaths.of(Path.cwd() / "copy.slb"))
    try:
        assert _facts(copied) == run.facts
    finally:
        copied.close()


class _Run:
    """A store, and what it should hold."""

    def __init__(self, rng: np.random.Generator, folder: Path) -> None:
        self.rng, self.folder, self.facts = rng, folder, Facts()
        self.store = ServerStore(StorePaths.of(folder))
        self.undoable: dict[
            int, tuple[Facts, Facts, bool]
        ] = {}  # facts before and after, and for administration
        self.removed: set[int] = set()  # items that were forgotten
        self.used: dict[str, int] = {"item": 0, "label": 0}  # the highest numbers so far

    def pick(self, choices: Any) -> Any:
        choices = list(choices)
        return choices[int(self.rng.integers(len(choices)))] if choices else None

    def step(self) -> None:
        kind = self.pick(KINDS)
        if kind == "reopen the store":
            self.store.close()
            self.store = ServerStore(StorePaths.of(self.folder))
            return
        (who, role), seqs = self.pick(PEOPLE), _last(self.store)
        before = copy.deepcopy(self.facts)
        try:
            work = self.work(kind, role)
            self.store.write_and_wait(lambda db: work(ChangeContext(db, who, self.store.clock(), role)))
        except ServerError:
            assert _facts(self.store) == before, f"{kind} was refused, and changed something"
            return
        self.facts = _facts(self.store)
        self.check(kind, role, before, seqs)

    def work(self, kind: str, role: str) -> Any:
        """A change; what it does is `check`ed afterwards."""
        items = [key[1] for key in self.facts if key[0] == "status"] + list(self.removed)
        labels = sorted({key[1] for key in self.facts if key[0] == "label"})
        item, name, label, other = (
            self.pick(items) or 1,
            self.pick(NAMES),
            self.pick(labels),
            self.pick(labels),
        )
        label, other = label or 1, other or 2
        seq = self.pick(self.undoable) or 1
        self.asked = {"item": item, "name": name, "label": label, "other": other, "seq": seq}
        state, status = self.pick(["present", "rejected", None]), self.pick(["waiting", "done", "removed"])
        named = self.pick([None, None, f"item-{item}"])
        new = changes.NewItem(
            {"a": int(self.rng.integers(5))}, named, tuple({self.pick(NAMES)}), bool(item % 2)
        )
        work = {
            "add": lambda by: changes.add_items(by, [new]),
            "tag": lambda by: changes.set_tag(by, item, name, state),
            "status": lambda by: changes.set_status(by, item, status),
            "edit": lambda by: changes.edit_item(by, item, {"a": item, "b": name}),
            "label": lambda by: changes.add_label(by, name),
            "rename": lambda by: changes.change_label(by, label, name + " two"),
            "merge": lambda by: changes.merge_labels(by, label, other),
            "delete": lambda by: changes.delete_label(by, label),
            "undo": lambda by: undo(by, seq),
            "undo last": changes.undo_last,
            "forget": lambda by: changes.forget_item(by, item),
            "lease": lambda by: changes.lease_first(by, [], []) and None,
        }
        return work[kind]

    def check(self, kind: str, role: str, before: Facts, seqs: int) -> None:
        """Against the plain model: undo sets back what was, and nothing else does more than it may."""
        facts, last = self.facts, _last(self.store)
        assert role != "reading" or facts == before, f"a reader did {kind}"
        shared = any(_changed(key, before, facts) for key in before if key[0] in LABEL and key in facts)
        assert role == "administration" or not shared or kind == "lease", (
            f"a tagger changed a label by {kind}"
        )
        if kind == "undo" and self.asked["seq"] in self.undoable:
            was, then, admin = self.undoable.pop(self.asked["seq"])
            assert role == "administration" or not admin
            now = {key: before.get(key) for key in then}
            assert now == then, f"undo of what changed since: {now}, {then}, {was}"
            assert all(facts.get(key) == value for key, value in was.items()), "undo did not set back"
            assert not {key for key in {*before, *facts} if _changed(key, before, facts)} - {*was}, (
                "it did more"
            )
        if kind == "forget":
            item = self.asked["item"]
            assert role == "administration"
            assert not any(key[1] == item for key in facts if key[0] in ("status", "tag", "content"))
            rest = {key: value for key, value in before.items() if key[0] in LABEL or key[1] != item}
            assert facts == rest, "forgetting took more than the item"
            self.removed.add(item)
            for was, then, _ in self.undoable.values():
                for side in (was, then):
                    for key in [key for key in side if key[0] not in LABEL and key[1] == item]:
                        del side[key]
        self.check_numbers(before)
        if kind not in ("forget", "undo last") and last == seqs + 1:
            keys = {key for key in {*before, *facts} if _changed(key, before, facts)}
            # an item that came is put away by an undo, with the content that it has by then
            keys = {key for key in keys if key[0] != "content" or key in before}
            was = {key: before.get(key, "removed" if key[0] == "status" else None) for key in keys}
            self.undoable[last] = (was, {key: facts.get(key) for key in keys}, shared)
        elif kind == "undo last":
            self.undoable.clear()  # which change it was is not followed here
        self.check_views()

    def check_numbers(self, before: Facts) -> None:
        """No number of an item or a label is given twice; one that comes back by undo is as it was."""
        for what, name in (("item", "status"), ("label", "label")):
            new = {key[1] for key in self.facts if key[0] == name} - {
                key[1] for key in before if key[0] == name
            }
            fresh = {number for number in new if number > self.used[what]}
            assert not new & self.removed or what == "label", "a forgotten item is back"
            assert len(new - fresh) == 0 or what == "label"
            self.used[what] = max([self.used[what], *fresh])

    def check_views(self) -> None:
        """The page and an export show the same tags, of labels that are there."""
        rows = [json.loads(line) for line in b"".join(export_items(self.store, "jsonl")).splitlines()]
        with self.store.reading() as db:
            ids = [
                row["id"] for row in db.execute("SELECT id FROM items WHERE status <> 'removed' ORDER BY id")
            ]
            shown = views.item_views(db, ids)
            views.journal(db)
        for row, item in zip(rows, shown, strict=True):
            for state, column in (("present", "tags"), ("rejected", "rejected")):
                assert [tag["label"] for tag in item["tags"] if tag["state"] == state] == row[column]
        labels = {key[1]: value for key, value in self.facts.items() if key[0] == "label"}
        live = [name for number, name in labels.items() if not self.facts["deleted", number]]
        assert len(live) == len(set(live)), "two labels of one name"


def _changed(key: tuple[Any, ...], before: Facts, after: Facts) -> bool:
    return before.get(key) != after.get(key)


def _last(store: ServerStore) -> int:
    return int(store.rows("SELECT coalesce(max(seq), 0) AS seq FROM journal")[0]["seq"])


def _facts(store: ServerStore) -> Facts:
    """What a store holds, by plain SQL."""
    facts = Facts()
    for row in store.rows("SELECT id, status, content FROM items"):
        facts["status", row["id"]], facts["content", row["id"]] = row["status"], row["content"]
    for row in store.rows("SELECT item, label, state FROM tags"):
        facts["tag", row["item"], row["label"]] = row["state"]
    for row in store.rows("SELECT id, name, deleted FROM labels"):
        facts["label", row["id"]], facts["deleted", row["id"]] = row["name"], row["deleted"]
    return facts
