"""Changes: roles, leases, ids that are never reused, idempotency keys, undo, forgetting."""

from __future__ import annotations

import json
import random
import struct
import time

import httpx
import pytest
from desk_support import Server, bytes_of, made_items, made_row

from simlabel.server import (
    Conflict,
    DiskFull,
    Forbidden,
    IdempotentRequest,
    ImportOptions,
    User,
    changes,
    export_items,
    undo,
    views,
)

ADA, BO = User("Ada", "administration"), User("Bo", "tagging")


def did(desk, user, make, *given, once=None, **named):
    return desk.change(user, lambda by: make(by, *given, **named), once).result()


def new_item(desk, *tags, user=ADA, **content):
    item = changes.NewItem(content or {"a": "b"}, None, tags, True)
    return did(desk, user, changes.add_items, [item]).ids[0]


def label_numbers(desk):
    return {name: number for number, name in desk.store.read(views.label_names).items()}


def last(desk, kind):
    return desk.store.rows("SELECT max(seq) AS seq FROM journal WHERE kind = ?", kind)[0]["seq"]


def test_ids_are_never_reused(desk):
    item = new_item(desk)
    tag = did(desk, BO, changes.set_tag, item, "HIV positive", "present")
    created = last(desk, "label")
    first = label_numbers(desk)["HIV positive"]
    back = did(desk, BO, undo, tag)
    did(desk, BO, undo, created)
    assert did(desk, BO, changes.add_label, "Healthy") > first
    with pytest.raises(Conflict, match="label"):
        did(desk, BO, undo, back)
    assert desk.item(item)["tags"] == []
    did(desk, ADA, changes.forget_item, item)
    assert new_item(desk) > item


def test_history_shows_the_label_names_of_that_time(desk):
    item = new_item(desk, "old name")
    number = label_numbers(desk)["old name"]
    did(desk, ADA, changes.change_label, number, "new name")
    did(desk, BO, changes.set_tag, item, "new name", "rejected")
    message = {one["kind"]: one["labels"] for one in desk.store.read(views.journal)}
    assert message == {
        "reject": ["new name"],
        "rename": ["new name"],
        "add": ["old name"],
        "label": ["old name"],
    }


def test_rename_of_a_removed_label_cannot_be_undone(desk):
    number = did(desk, ADA, changes.add_label, "horror")
    created = last(desk, "label")
    renamed = did(desk, ADA, changes.change_label, number, "terror")
    back = did(desk, ADA, undo, renamed)
    did(desk, ADA, undo, created)
    with pytest.raises(Conflict, match="changed since"):
        did(desk, ADA, undo, back)


def test_tag_is_not_restored_without_its_label(desk):
    item = new_item(desk, "horror", "crime")
    cleared = did(desk, BO, changes.set_tag, item, "horror", None)
    removed = did(desk, ADA, changes.delete_label, label_numbers(desk)["horror"])
    with pytest.raises(Conflict, match=r"label .* was deleted"):
        did(desk, BO, undo, cleared)
    shown = [tag["label"] for tag in desk.item(item)["tags"]]
    rows = [json.loads(line) for line in b"".join(export_items(desk.store, "jsonl")).splitlines()]
    assert shown == rows[0]["tags"] == ["crime"]
    did(desk, ADA, undo, removed)
    did(desk, BO, undo, cleared)
    assert [tag["label"] for tag in desk.item(item)["tags"]] == ["crime", "horror"]


def test_deletion_is_not_repeated_for_a_label_with_new_tags(desk):
    """Undo of the undo of a deletion: tags of the time in between would stay without their label."""
    item = new_item(desk, "horror")
    removed = did(desk, ADA, changes.delete_label, label_numbers(desk)["horror"])
    back = did(desk, ADA, undo, removed)
    other = new_item(desk, "horror")
    with pytest.raises(Conflict, match="in use"):
        did(desk, ADA, undo, back)
    assert [desk.item(one)["tags"][0]["label"] for one in (item, other)] == ["horror", "horror"]
    cleared = did(desk, BO, changes.set_tag, other, "horror", None)
    did(desk, ADA, undo, back)
    assert "horror" not in label_numbers(desk)
    with pytest.raises(Conflict, match=r"label .* was deleted"):
        did(desk, BO, undo, cleared)


@pytest.mark.parametrize("kind", ["rename", "merge", "delete"])
def test_undo_requires_the_role_of_the_change(desk, kind):
    new_item(desk, "horror", "crime")
    numbers = label_numbers(desk)
    make = {
        "rename": lambda by: changes.change_label(by, numbers["horror"], "terror"),
        "merge": lambda by: changes.merge_labels(by, numbers["horror"], numbers["crime"]),
        "delete": lambda by: changes.delete_label(by, numbers["horror"]),
    }[kind]
    with pytest.raises(Forbidden, match="administration"):
        did(desk, BO, make)
    seq = did(desk, ADA, make)
    before = desk.store.rows("SELECT * FROM labels")
    with pytest.raises(Forbidden):
        did(desk, BO, undo, seq)
    back = did(desk, ADA, undo, seq)
    with pytest.raises(Forbidden):  # undoing the undo repeats the change
        did(desk, BO, undo, back)
    did(desk, ADA, undo, back)
    assert [tuple(row) for row in desk.store.rows("SELECT * FROM labels")] == [tuple(row) for row in before]


def test_reading_role_cannot_change_anything(desk):
    item = new_item(desk)
    for make in (changes.set_tag, changes.edit_item):
        with pytest.raises(Forbidden):
            did(
                desk,
                User("Eve", "reading"),
                make,
                item,
                *(["x", "present"], [{"a": "c"}])[make is changes.edit_item],
            )
    with pytest.raises(Forbidden):
        did(desk, BO, changes.forget_item, item)


def test_undo_and_items_by_name_respect_leases(desk):
    item = new_item(desk)
    name = desk.item(item)["name"]
    tag = did(desk, BO, changes.set_tag, item, "horror", "present")
    did(desk, ADA, changes.lease, item)
    with pytest.raises(Conflict, match="being edited by Ada"):
        did(desk, BO, undo, tag)
    with pytest.raises(Conflict, match="being edited by Ada"):
        did(desk, BO, changes.undo_last)
    with pytest.raises(Conflict, match="being edited by Ada"):
        did(desk, BO, changes.add_items, [changes.NewItem({"a": "other"}, name)])
    assert desk.item(item)["content"] == {"a": "b"}
    did(desk, ADA, changes.release, item)
    did(desk, BO, undo, tag)


def test_roles_and_leases_over_http(tmp_path):
    with Server(tmp_path / "desk") as server:
        server.post("/api/items", {"items": made_items(2, seed=1)})
        admin = server.post("/api/tokens", {"name": "Ada", "role": "administration"})["token"]
        head = {"authorization": f"Bearer {admin}"}
        token = server.post("/api/tokens", {"name": "Bo", "role": "tagging"}, headers=head)["token"]
        tagger = {"authorization": f"Bearer {token}"}
        label = server.get("/api/labels", headers=head)["labels"][0]["id"]
        renamed = server.client.patch(f"/api/labels/{label}", json={"name": "other"}, headers=head).json()[
            "seq"
        ]

        def code(path, body=None):
            return httpx.post(
                f"{server.address.rstrip('/')}{path}", json=body or {}, headers=tagger
            ).status_code

        assert code(f"/api/changes/{renamed}/undo") == 403
        assert "other" in {one["name"] for one in server.get("/api/labels", headers=head)["labels"]}
        tag = server.post("/api/items/1/tags", {"label": "mine"}, headers=tagger)["seq"]
        server.post("/api/queue/1/lease", headers=head)
        assert code(f"/api/changes/{tag}/undo") == 409
        assert code("/api/undo") == 409
        item = server.get("/api/items/1", headers=head)
        assert code("/api/items", {"items": [{"name": item["name"], "content": {"a": "b"}}]}) == 409
        assert server.get("/api/items/1", headers=head)["content"] == item["content"]


def test_forgetting_keeps_stored_answers_about_other_items(desk):
    new = [changes.NewItem({"a": "b"})]
    keys = [IdempotentRequest.of(key, b"POST", b"/api/items", key.encode()) for key in ("one", "two")]
    one, two = (did(desk, ADA, changes.add_items, new, once=once) for once in keys)
    seq = did(desk, ADA, changes.forget_item, one.ids[0])
    assert did(desk, ADA, changes.forget_item, one.ids[0]) == seq  # repeated: the same change
    assert did(desk, ADA, changes.add_items, new, once=keys[1])["ids"] == two.ids
    with pytest.raises(Conflict, match="forgotten"):
        did(desk, ADA, changes.add_items, new, once=keys[0])
    assert desk.status()["items"]["waiting"] == 1
    rows = desk.store.rows("SELECT key, digest, body FROM answers ORDER BY id")
    assert (rows[0]["digest"], rows[0]["body"]) == (None, None)
    assert all(len(row["key"]) == 64 for row in rows)  # digests, because a key may contain content


def test_no_byte_contains_numbers_dates_or_columns_of_a_forgotten_item(tmp_path):
    """Use a separate process: reading SQLite's files in this process would release its locks on them."""
    folder, rng = tmp_path / "desk", random.Random(1)
    items = [
        {"content": {**content, "price": i + 0.5, "day": f"2001-01-{1 + i:02}"}, "tags": tags, "done": True}
        for i, (content, tags) in enumerate(made_row(rng) for _ in range(24))
    ]
    secret = {"title": "plain words", "price": 98765.4321, "day": "1931-07-09", "odd column": "plain words"}
    items.append({"content": secret, "tags": ["horror"], "done": True})
    traces = [
        struct.pack("<d", 98765.4321),
        b"98765.4",
        b"1931-07-09",
        struct.pack("<d", 1931.0),
        b"odd column",
    ]
    with Server(folder) as server:
        number = server.post("/api/items", {"items": items})["ids"][-1]
        server.wait_for_model()
        assert sum(any(trace in data for data in bytes_of(folder).values()) for trace in traces) >= 4
        answer = server.post(f"/api/items/{number}/forget")
        assert answer["erased"] == (answer["remains"] == [])
        server.wait(lambda status: status["erasing"] == 0)
        assert server.post(f"/api/items/{number}/forget") == {"erased": True, "remains": []}
        found = [
            (trace, path) for trace in traces for path, data in bytes_of(folder).items() if trace in data
        ]
        assert found == []


def test_forget_reports_what_the_model_keeps_until_the_next_fit(desk):
    rows = [
        {"plot": "a shark", "price": 1.5, "odd": "x"},
        {"plot": "a kiss", "price": 2},
        {"plot": "1.5.2001"},
    ]
    numbers = [new_item(desk, "horror", **row) for row in rows]
    waits = did(desk, ADA, changes.add_items, [changes.NewItem({"other": 7})]).ids[0]
    both = ["numbers and dates", "names of columns"]
    for number, remains in zip([*numbers[:2], waits], [both, both, []], strict=True):
        assert desk.forget(ADA, number, 0)["remains"] == remains
    assert desk.forget(ADA, numbers[2], 0)["remains"] == both


def test_import_problems_do_not_quote_forgotten_content(desk):
    number = new_item(desk)
    data = {"options": {"name": "t.csv"}, "problems": [{"row": 3, "problem": "cell 'Quetzal' is odd"}]}
    values = ("done", "Ada", 1.0, json.dumps(data))
    desk.store.execute("INSERT INTO jobs (state, actor, at, data) VALUES (?, ?, ?, ?)", *values)
    desk.start()
    assert desk.forget(ADA, number, 120)["erased"]
    (job,) = desk.store.read(views.jobs)
    assert [one["row"] for one in job["problems"]] == [3]
    desk.close()
    assert not any(b"Quetzal" in data for data in bytes_of(desk.places.store.parent).values())


def test_server_recovers_from_a_full_disk(desk):
    number = new_item(desk)
    desk.start()
    pages = desk.store._writer.execute("PRAGMA page_count").fetchone()[0]
    desk.store._writer.execute(f"PRAGMA max_page_count = {pages}")
    many = [changes.NewItem({"text": "x" * 200})] * 500
    for _ in range(20):
        try:
            did(desk, ADA, changes.add_items, many)
        except DiskFull:
            break
    assert any("could not be stored" in one or "could not be updated" in one for one in desk.problems())
    desk.store._writer.execute("PRAGMA max_page_count = 1073741823")
    assert desk.updater.wait_for(lambda: not desk.problems(), 60)
    assert desk.forget(ADA, number, 60)["erased"]


def test_store_that_becomes_read_only_is_reported(desk, request):
    assert desk.problems() == []
    desk.places.store.chmod(0o444)
    request.getfixturevalue("nobody")
    assert desk.problems() == ["The store can only be read."]


def test_import_recovers_from_a_full_disk(desk, monkeypatch):
    monkeypatch.setattr("simlabel.server._transfer._RETRY_SECONDS", 0.2)
    place = desk.imports.place()
    place.write_text("title\n" + "".join(f"{'x' * 200} {i}\n" for i in range(2000)))
    pages = desk.store._writer.execute("PRAGMA page_count").fetchone()[0]
    number = did(desk, ADA, lambda by: desk.imports.take(by, place, ImportOptions(name="t.csv")))
    desk.store._writer.execute(f"PRAGMA max_page_count = {pages + 10}")
    desk.start()
    end = time.monotonic() + 60
    while not desk.problems():
        assert time.monotonic() < end
        time.sleep(0.02)
    time.sleep(1)  # writing is retried several times meanwhile
    assert desk.store.read(views.job, number)["state"] == "waiting"
    desk.store._writer.execute("PRAGMA max_page_count = 1073741823")
    assert desk.updater.wait_for(lambda: desk.store.read(views.job, number)["state"] == "done", 60)
    job = desk.store.read(views.job, number)
    assert (job["new"], job["problems"]) == (2000, [])
    assert desk.updater.wait_for(lambda: not desk.problems(), 60)
