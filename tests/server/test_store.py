"""Store, journal and model compared with a plain Python model, for random sequences of changes."""

from __future__ import annotations

import copy
import shutil
import tempfile
import threading
from contextlib import closing
from pathlib import Path

import pytest
from desk_support import assert_journal_is_the_truth, lessons_of, made_row, opened
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule

from simlabel.server import (
    BatchWorker,
    ChangeContext,
    Conflict,
    NotFound,
    ServerError,
    ServerStore,
    StorePaths,
    changes,
    changes_since,
    fit_model,
    undo,
    update_model,
)

LABELS = st.sampled_from(["horror", "romance", "crime", "space", "  space ", "Übersee"])
PEOPLE = st.sampled_from(["Ada", "Bo"])


class ServerMachine(RuleBasedStateMachine):
    """Compares the store with dicts of content, state and tags, and with the values before each change."""

    items, entries = Bundle("items"), Bundle("entries")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.store = ServerStore(StorePaths.of(self.folder))
        self.plain: dict[int, dict] = {}
        self.before: dict[int, tuple] = {}
        self.model, self.position = None, -1

    def make(self, who, work):
        return self.store.write_and_wait(
            lambda db: work(ChangeContext(db, who, self.store.clock(), "administration"))
        )

    def changed(self, seq, *before):
        """Remember the values that an entry replaced, as (id, label or "state", value)."""
        if seq is None:
            return multiple()
        self.before[seq] = before
        return seq

    def state(self, number):
        return self.plain[number]["done"], self.plain[number]["there"]

    @rule(target=items, who=PEOPLE, seed=st.integers(0, 50), done=st.booleans())
    def add(self, who, seed, done):
        import random

        content, tags = made_row(random.Random(seed))
        new = changes.NewItem(content, None, tags, done)
        (number,) = self.make(who, lambda by: changes.add_items(by, [new])).ids
        self.plain[number] = {
            "content": content,
            "done": done,
            "there": True,
            "tags": dict.fromkeys(tags, "present"),
        }
        return number

    def alive(self, number):
        return number in self.plain and self.plain[number]["there"]

    @rule(
        target=entries,
        number=items,
        who=PEOPLE,
        label=LABELS,
        state=st.sampled_from(["present", "rejected", None]),
    )
    def tag(self, number, who, label, state):
        before = copy.deepcopy(self.plain.get(number))
        work = lambda by: changes.set_tag(by, number, label, state)  # noqa: E731
        if not self.alive(number):
            with pytest.raises(NotFound):
                self.make(who, work)
            return multiple()
        seq = self.make(who, work)
        label = " ".join(label.split())
        assert (seq is None) == (before["tags"].get(label) == state)
        if state is None:
            self.plain[number]["tags"].pop(label, None)
        else:
            self.plain[number]["tags"][label] = state
        return self.changed(seq, (number, label, before["tags"].get(label)))

    @rule(target=entries, number=items, who=PEOPLE, status=st.sampled_from(["waiting", "done", "removed"]))
    def status(self, number, who, status):
        if not self.alive(number):
            return multiple()
        before = self.state(number)
        seq = self.make(who, lambda by: changes.set_status(by, number, status))
        item = self.plain[number]
        if status == "removed":
            item["there"] = False
        else:
            item["done"] = status == "done"
        return self.changed(seq, (number, "state", before))

    @rule(target=entries, who=PEOPLE, one=LABELS, other=LABELS)
    def merge(self, who, one, other):
        rows = {
            row["name"]: row["id"] for row in self.store.rows("SELECT id, name FROM labels WHERE NOT deleted")
        }
        one, other = " ".join(one.split()), " ".join(other.split())
        if one == other or not {one, other} <= set(rows):
            return multiple()
        before = copy.deepcopy(self.plain)
        seq = self.make(who, lambda by: changes.merge_labels(by, rows[one], rows[other]))
        for item in self.plain.values():
            own = item["tags"].pop(one, None)
            if own and (own == "present" or other not in item["tags"]):
                item["tags"][other] = own
        moved = [(number, item["tags"]) for number, item in before.items() if one in item["tags"]]
        return self.changed(
            seq, *[(n, label, tags.get(label)) for n, tags in moved for label in (one, other)]
        )

    @rule(entry=entries, who=PEOPLE)
    def undone(self, entry, who):
        try:
            self.make(who, lambda by: undo(by, entry))
        except Conflict:
            return  # changed since or undone already
        for number, field, value in self.before[entry]:
            if number not in self.plain:
                continue
            if field == "state":
                self.plain[number]["done"], self.plain[number]["there"] = value
            elif value is None:
                self.plain[number]["tags"].pop(field, None)
            else:
                self.plain[number]["tags"][field] = value

    @rule(number=items, who=PEOPLE)
    def forget(self, number, who):
        seq = self.make(who, lambda by: changes.forget_item(by, number))
        assert self.make(who, lambda by: changes.forget_item(by, number)) == seq
        self.plain.pop(number, None)

    @rule(who=PEOPLE)
    def lease(self, who):
        """A leased item is not given to another user."""
        number = self.make(who, lambda by: changes.lease_first(by, [], []))
        if number is None:
            return
        other = "Bo" if who == "Ada" else "Ada"
        with pytest.raises(Conflict):
            self.make(other, lambda by: changes.set_tag(by, number, "horror", "present"))
        assert self.make(other, lambda by: changes.lease_first(by, [number], [])) != number
        for holder in ("Ada", "Bo"):
            for row in self.store.rows("SELECT item FROM leases WHERE holder = ?", holder):
                self.make(holder, lambda by, item=row["item"]: changes.release(by, item))

    @rule()
    def follow(self):
        """The model is trained on exactly the done items."""
        with closing(opened(self.folder)) as db:
            found = changes_since(db, self.position)
            if self.model is not None:
                self.model = update_model(self.model, found)
            if self.model is None:
                self.model = fit_model(changes_since(db, -1).labeled_items)
            self.position = found.position
        wanted = sorted(n for n, item in self.plain.items() if item["there"] and item["done"])
        if self.model is not None:
            assert sorted(self.model.ids_.tolist()) == wanted
            Y = dict(
                zip(self.model.ids_.tolist(), self.model._model.scorer.references.Y.toarray(), strict=True)
            )
            names = self.model.classes_.tolist()
            labeled_items = lessons_of(self.folder)
            for number in wanted:
                assert {names[k] for k in Y[number].nonzero()[0]} == labeled_items[number][1]

    @invariant()
    def the_store_is_the_plain_one(self):
        with self.store.reading() as db:
            rows = db.execute("SELECT id, status FROM items").fetchall()
            tags = db.execute(
                "SELECT t.item, l.name, t.state FROM tags t JOIN labels l ON l.id = t.label"
            ).fetchall()
        assert {row["id"]: row["status"] != "removed" for row in rows} == {
            n: i["there"] for n, i in self.plain.items()
        }
        done = {row["id"] for row in rows if row["status"] == "done"}
        assert done == {n for n, item in self.plain.items() if item["there"] and item["done"]}
        found: dict[int, dict] = {number: {} for number in self.plain}
        for item, name, state in tags:
            found[item][name] = state
        assert found == {number: item["tags"] for number, item in self.plain.items()}

    def teardown(self):
        self.store.close()
        assert_journal_is_the_truth(self.folder, self.folder / "again.sqlite")
        shutil.rmtree(self.folder)


TestDesk = ServerMachine.TestCase
TestDesk.settings = settings(max_examples=12, stateful_step_count=25, deadline=None)


def test_failed_change_does_not_affect_others_of_its_transaction(tmp_path):
    store = ServerStore(StorePaths.of(tmp_path))

    def wrong(db):
        db.execute("INSERT INTO labels VALUES (9, 'half', '', 0)")
        raise ServerError("no")

    requested = [
        store.write(
            lambda db, i=i: db.execute("INSERT INTO labels VALUES (?, ?, '', 0)", (i, f"l{i}")).rowcount
        )
        for i in (1, 2)
    ]
    failed = store.write(wrong)
    assert [one.result() for one in requested] == [1, 1]
    with pytest.raises(ServerError, match="no"):
        failed.result()
    assert [row["name"] for row in store.rows("SELECT name FROM labels ORDER BY id")] == ["l1", "l2"]
    store.close()


def test_the_clock_never_goes_back(tmp_path, monkeypatch):
    store = ServerStore(StorePaths.of(tmp_path))
    store.write_and_wait(
        lambda db: changes.add_label(ChangeContext(db, "Ada", store.clock() + 3600), "later")
    )
    store.close()
    store = ServerStore(StorePaths.of(tmp_path))
    first = store.clock()
    assert store.clock.behind > 3000
    monkeypatch.setattr("time.time", lambda: 0.0)
    assert store.clock() >= first
    until = store.write_and_wait(
        lambda db: changes.lease(ChangeContext(db, "Ada", first), store_item(db, first))
    )
    assert until == first + changes.LEASE_SECONDS
    store.close()


def store_item(db, at):
    (number,) = changes.add_items(ChangeContext(db, "Ada", at), [changes.NewItem({"a": "b"})]).ids
    return number


def test_canceled_and_failed_requests_do_not_block_later_ones():
    """After a canceled request and a failed one, later requests are answered."""
    requested, go_on = threading.Event(), threading.Event()

    def answer(batch):
        requested.set()
        go_on.wait(30)
        if "bad" in batch:
            raise OSError("no answer to this")
        return batch

    thread = BatchWorker("one", 1, answer)
    first, second = thread.ask("first"), thread.ask("second")
    assert requested.wait(30)
    assert not first.cancel()  # it is being answered
    assert second.cancel()
    go_on.set()
    with pytest.raises(OSError, match="no answer to this"):
        thread.ask("bad").result(30)
    assert first.result(30) == "first"
    assert thread.ask("third").result(30) == "third"
    thread.close()
