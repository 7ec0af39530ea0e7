"""Pending updates: stored changes count at once, before the model is trained on them."""

from __future__ import annotations

import random

import numpy as np
import pytest
from desk_support import WORDS, made_row

from simlabel.server import PendingUpdates, TaggingServer, User, changes, undo
from simlabel.tables import table_cells

ADA = User("Ada", "administration")
ODD = {"title": "Xylophone concert", "plot": "xylophone glockenspiel marimba xylophone"}


def texts(seed):
    content, tags = made_row(random.Random(seed))
    return {name: content[name] for name in ("title", "plot")}, tags


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    """Return a server state whose model knows 40 films and is not updated."""
    desk = TaggingServer(tmp_path_factory.mktemp("pending_updates"))
    new = [changes.NewItem(content, None, tags, True) for content, tags in map(texts, range(40))]
    desk.change(ADA, lambda by: changes.add_items(by, new).updated).result()
    desk.start()
    assert desk.updater.wait_for(lambda: desk.predictor.published is not None, 120)
    desk.updater.close()
    yield desk
    desk.close()


@pytest.fixture
def desk(taught):
    """Return the same state; items that a test adds are removed after it."""
    known = {row["id"] for row in taught.store.rows("SELECT id FROM items")}
    yield taught
    for row in taught.store.rows("SELECT id FROM items WHERE status <> 'removed'"):
        if row["id"] not in known:
            changed(taught, changes.set_status, row["id"], "removed")


def changed(desk, make, *given):
    return desk.change(ADA, lambda by: make(by, *given)).result()


def added(desk, content, tags=(), done=False):
    return changed(desk, changes.add_items, [changes.NewItem(content, None, tags, done)]).ids[0]


def suggested(desk, content):
    (found,) = desk.predictor.suggest([content], 100, 0.0).result().results
    return {one["label"]: one["probability"] for one in found}


def numbered(desk, name):
    return str(desk.store.rows("SELECT id FROM labels WHERE name = ?", name)[0]["id"])


def test_done_item_counts_in_the_next_suggestion(desk):
    assert "percussion" not in suggested(desk, ODD)
    number = added(desk, ODD, ["percussion"], done=True)
    found = suggested(desk, ODD)
    assert max(found, key=found.get) == "percussion"
    published = desk.predictor.current()
    assert published.pending_updates.position == desk.status()["position"] > published.position
    changed(desk, changes.set_status, number, "removed")
    assert "percussion" not in suggested(desk, ODD)


def test_only_the_given_and_rejected_labels_of_a_waiting_item_count(desk):
    before = suggested(desk, ODD)
    number = added(desk, ODD)
    assert suggested(desk, ODD) == before
    changed(desk, changes.set_tag, number, "horror", "present")
    seq = changed(desk, changes.set_tag, number, "space", "rejected")
    after = suggested(desk, ODD)
    assert after["horror"] > before["horror"]
    assert after["space"] < before["space"]
    for label in WORDS.keys() - {"horror", "space"}:
        assert after[label] == before[label]
    changed(desk, undo, seq)
    assert suggested(desk, ODD)["space"] == before["space"]
    changed(desk, changes.set_status, number, "done")  # labels that were not given are absent from now on
    assert suggested(desk, ODD)["romance"] < before["romance"]


def test_probabilities_with_pending_updates_follow_the_formula(desk):
    """p + sum over items of s(row, item) / (penalty + sum of s(item, other)) * (known - p(item))."""
    model, columns = desk.predictor.current().model, ["title", "plot"]
    labeled_items = [(texts(seed)[0], texts(seed + 1)[1]) for seed in (100, 200, 300)]
    for content, tags in labeled_items:
        added(desk, content, tags, done=True)
    half = texts(400)[0]
    changed(desk, changes.set_tag, added(desk, half), "crime", "present")
    requested = [texts(seed)[0] for seed in (500, 600)]

    def encoded(contents):
        rows = [{name: content[name] for name in columns} for content in contents]
        return model.encoder_.encode(model.encoder_.aligned(table_cells(rows))).toarray()

    names = model.classes_.tolist()
    off = -model.predict_proba([content for content, _ in labeled_items] + [half])
    for row, (_, tags) in zip(off, labeled_items, strict=False):
        row[[names.index(numbered(desk, tag)) for tag in tags]] += 1
    crime = names.index(numbered(desk, "crime"))
    off[3] = np.where(np.arange(len(names)) == crime, 1 + off[3], 0.0)
    E, Q = encoded([content for content, _ in labeled_items] + [half]), encoded(requested)
    knows = np.ones(off.shape)
    knows[3] = np.arange(len(names)) == crime
    shift = np.zeros((len(requested), len(names)))
    for k in range(len(names)):
        for i in range(len(E)):
            whole = sum(E[i] @ E[j] for j in range(len(E)) if knows[j, k])
            shift[:, k] += knows[i, k] * Q @ E[i] * off[i, k] / (model.influence_.penalty + whole)
    wanted = np.clip(model.predict_proba(requested) + shift, 1e-4, 1 - 1e-4)
    for content, row in zip(requested, wanted, strict=True):
        found = suggested(desk, content)
        for tag in WORDS:
            assert found[tag] == pytest.approx(row[names.index(numbered(desk, tag))], abs=1e-4)


def test_waiting_items_are_pending_updates_of_the_next_model(desk):
    number = added(desk, ODD)
    changed(desk, changes.set_tag, number, "horror", "present")
    published = desk.predictor.current()
    fresh = PendingUpdates(desk.store, published.model, desk.status()["position"])
    before = published.model.predict_proba([ODD])
    after = fresh.outputs([ODD])
    changes_ = zip(after.names, (after.probabilities - before)[0], strict=True)
    moved = {label for label, change in changes_ if abs(change) > 0.01}
    assert moved == {numbered(desk, "horror")}


def test_the_newest_256_pending_items_count_and_warming_up_keeps_them(desk):
    """The labels of older items are unknown to the model and to its pending updates."""
    contents = [ODD | {"title": f"Concert {number}"} for number in range(258)]
    new = [changes.NewItem(c, None, ["old" if i < 2 else "new"]) for i, c in enumerate(contents)]
    changed(desk, changes.add_items, new)
    published = desk.predictor.current()
    pending = PendingUpdates(desk.store, published.model, published.position)
    before = pending.outputs([ODD])
    assert numbered(desk, "new") in before.names
    assert numbered(desk, "old") not in before.names
    pending.warm()
    np.testing.assert_array_equal(pending.outputs([ODD]).probabilities, before.probabilities)
