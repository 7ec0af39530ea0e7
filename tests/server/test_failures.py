"""Failures of the system: clear errors, no lost data; forgotten content is erased."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time

import pytest
from desk_support import (
    MAIN,
    Server,
    assert_journal_is_the_truth,
    assert_model_is_a_fresh_fit,
    bytes_of,
    made_items,
    made_row,
    snapshot_of,
)

from simlabel import Tagger
from simlabel.server import DiskFull, Learner, ReadOnlyError, StoreError, TaggingServer, User, backup, changes

ADA = User("Ada", "administration")


def added(desk, n, seed=0, done=True):
    rng = random.Random(seed)
    rows = [made_row(rng) for _ in range(n)]
    new = [changes.NewItem(content, None, tags if done else (), done) for content, tags in rows]
    return desk.change(ADA, lambda who: changes.add_items(who, new).ids).result()


def _many(by):
    return changes.add_items(by, [changes.NewItem({"text": "x" * 200})] * 20).ids


def wait_for_model(desk, seconds=120):
    position = desk.status()["position"]
    assert desk.updater.wait_for(lambda: desk.updater.state["position"] >= position, seconds), desk.status()


def test_a_full_disk_loses_nothing(desk):
    added(desk, 3)
    desk.store.write_and_wait(lambda db: db.execute("SELECT 1").fetchone())
    pages = desk.store._writer.execute("PRAGMA page_count").fetchone()[0]
    desk.store._writer.execute(f"PRAGMA max_page_count = {pages}")
    requested = [desk.change(ADA, _many) for _ in range(50)]
    said = [one.exception() for one in requested]
    assert isinstance(said[-1], DiskFull)
    assert "Free some room" in str(said[-1])
    before = desk.status()
    assert before["items"]["done"] == 3
    desk.store._writer.execute("PRAGMA max_page_count = 1073741823")
    added(desk, 2)
    assert desk.status()["items"]["done"] == 5


def test_store_of_a_newer_version_is_refused_unchanged(tmp_path):
    TaggingServer(tmp_path / "desk").close()
    store = tmp_path / "desk" / "desk.sqlite"
    db = sqlite3.connect(store)
    db.execute("PRAGMA user_version = 99")
    db.close()
    before = store.read_bytes()
    with pytest.raises(StoreError, match="newer simlabel"):
        TaggingServer(tmp_path / "desk")
    assert store.read_bytes() == before


@pytest.mark.parametrize("damage", ["header", "middle", "another program's"])
def test_damaged_store_is_refused(tmp_path, damage):
    desk = TaggingServer(tmp_path / "desk")
    added(desk, 200)
    desk.close()
    store = tmp_path / "desk" / "desk.sqlite"
    if damage == "another program's":
        store.unlink()
        db = sqlite3.connect(store)
        db.execute("CREATE TABLE x (y)")
        db.close()
    else:
        data = bytearray(store.read_bytes())
        at = 0 if damage == "header" else len(data) // 2
        data[at : at + 4096 * 4] = b"\xa5" * 4096 * 4
        store.write_bytes(data)
    with pytest.raises(StoreError, match=r"backup|another program"):
        TaggingServer(tmp_path / "desk")


def test_second_server_on_a_folder_is_refused(desk, tmp_path):
    with pytest.raises(StoreError, match="another server"):
        TaggingServer(tmp_path / "desk")


def test_model_is_fitted_again_if_its_snapshot_is_damaged(tmp_path):
    desk = TaggingServer(tmp_path / "desk")
    desk.start()
    added(desk, 12)
    wait_for_model(desk)
    desk.close()
    (path,) = (tmp_path / "desk" / "models").iterdir()
    path.write_bytes(path.read_bytes()[:-100])
    desk = TaggingServer(tmp_path / "desk")
    desk.start()
    assert desk.updater.wait_for(lambda: desk.predictor.published is not None, 120)
    desk.close()
    assert_model_is_a_fresh_fit(tmp_path / "desk")


@pytest.mark.parametrize("what", ["fit", "replace_rows"])
def test_failed_update_is_repeated(desk, monkeypatch, what):
    learner = Learner(desk.places.store, desk.places.models)
    if what == "replace_rows":
        added(desk, 5)
        learner.follow("first.simlabel")
    added(desk, 4, seed=1)
    with monkeypatch.context() as patched:
        patched.setattr(Tagger, what, lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            learner.follow("second.simlabel")
    answer = learner.follow("second.simlabel")
    assert answer["file"] == "second.simlabel"
    assert answer["position"] == desk.status()["position"]
    assert answer["rows"] == desk.status()["items"]["done"]


def test_read_only_store_answers_and_refuses_changes(tmp_path, request):
    folder = tmp_path / "desk"
    desk = TaggingServer(folder)
    added(desk, 3)
    desk.close()
    for path in (*folder.rglob("*"), folder):
        path.chmod(0o555 if path.is_dir() else 0o444)
    request.getfixturevalue("nobody")
    desk = TaggingServer(folder)
    desk.start()
    assert desk.status()["items"]["done"] == 3
    assert desk.status()["read_only"]
    with pytest.raises(ReadOnlyError, match="read-only"):
        added(desk, 1)
    assert len(desk.store.rows("SELECT 1 FROM items")) == 3
    desk.close()


def test_unreadable_write_ahead_log_is_an_error(tmp_path, request):
    """Changes that are only in the log would be missing from a read-only store."""
    folder, live = tmp_path / "desk", tmp_path / "live"
    desk = TaggingServer(live)
    added(desk, 3)
    folder.mkdir()
    for name in ("desk.sqlite", "desk.sqlite-wal"):
        shutil.copy(live / name, folder)
    desk.close()
    folder.chmod(0o555)
    request.getfixturevalue("nobody")
    with pytest.raises(StoreError, match="cannot be read in a folder that is read-only"):
        TaggingServer(folder)


def test_no_byte_of_the_folder_contains_forgotten_content(tmp_path):
    folder = tmp_path / "desk"
    secret = "Quetzalcoatlus"
    with Server(folder, "--log") as server:
        server.post("/api/items", {"items": made_items(30, seed=1)})
        body = {
            "name": f"{secret} 1",
            "content": {"title": f"About {secret}", "plot": f"{secret} shark"},
            "tags": ["horror"],
        }
        (number,) = server.post("/api/items", {"items": [{**body, "done": True}]})["ids"]
        csv = f"id,title,plot,tags\nz,{secret} imported,{secret} love,romance\n".encode()
        requested = {"name": "more.csv", "label_column": "tags", "id_column": "id"}
        assert server.client.post("/api/imports", params=requested, content=csv).status_code == 202
        server.wait(lambda status: status["items"]["done"] == 32)
        other = server.get("/api/items", params={"text": f"{secret} imported"})["items"][0]["id"]
        server.client.put(
            f"/api/items/{number}", json={"content": {"title": f"{secret} again", "plot": "shark"}}
        )
        server.post(f"/api/items/{number}/tags", {"label": "crime"}, headers={"idempotency-key": secret[:5]})
        server.wait_for_model()
        server.post("/api/suggest", {"rows": [{"title": secret}]})
        assert any(secret.encode() in data for data in bytes_of(folder).values())
        label = next(one["id"] for one in server.get("/api/labels")["labels"] if one["name"] == "crime")
        into = next(one["id"] for one in server.get("/api/labels")["labels"] if one["name"] == "space")
        merged = server.post(f"/api/labels/{label}/merge", {"into": into})["seq"]
        server.wait_for_model()
        for one in (number, other):
            assert server.post(f"/api/items/{one}/forget")["erased"]
        found = [
            path
            for path, data in bytes_of(folder).items()
            if secret.encode() in data or secret.lower().encode() in data
        ]
        assert found == []
        assert server.get("/api/items", params={"text": secret})["items"] == []
        forget = server.get("/api/changes", params={"limit": 1})["changes"][0]
        assert server.client.post(f"/api/changes/{forget['seq']}/undo").status_code == 409
        server.post(f"/api/changes/{merged}/undo")  # the part that is not forgotten
        server.wait_for_model()
        code, said = server.end()
        assert code == 0
        assert "POST /api/suggest 200" in said
        assert secret not in said
    assert all(secret.encode() not in data for data in bytes_of(folder).values())
    assert_journal_is_the_truth(folder, tmp_path / "again.sqlite")
    assert_model_is_a_fresh_fit(folder)


def test_interrupted_forgetting_is_finished_at_the_next_start(tmp_path):
    desk = TaggingServer(tmp_path / "desk")
    desk.start()
    numbers = added(desk, 10)
    wait_for_model(desk)
    new = changes.NewItem({"title": "Quetzalcoatlus"}, None, ["horror"], True)
    (number,) = desk.change(ADA, lambda who: changes.add_items(who, [new]).ids).result()
    wait_for_model(desk)
    shutil.copytree(tmp_path / "desk" / "models", tmp_path / "models")
    desk.close()
    desk = TaggingServer(tmp_path / "desk")  # not started, as if killed right after the answer
    desk.change(ADA, lambda who: changes.forget_item(who, number)).result()
    desk.close()
    assert any(
        b"Quetzalcoatlus" in data or b"quetzalcoatlus" in data
        for data in bytes_of(tmp_path / "desk").values()
    )
    desk = TaggingServer(tmp_path / "desk")
    desk.start()
    removed = "SELECT 1 FROM forgotten WHERE NOT erased"
    assert desk.updater.wait_for(lambda: not desk.store.rows(removed), 120)
    assert not any(b"uetzalcoatlus" in data for data in bytes_of(tmp_path / "desk").values())
    assert sorted(desk.predictor.current().model.ids_.tolist()) == numbers
    desk.close()


def test_item_is_not_erased_before_the_model_is_updated(tmp_path):
    """An item that is forgotten right after the follower has read the journal is erased later."""
    desk = TaggingServer(tmp_path / "desk")
    numbers = added(desk, 5)
    desk.updater.state["position"] = desk.status()["position"]
    desk.change(ADA, lambda who: changes.forget_item(who, numbers[0])).result()
    assert not desk.updater._erase_rest()
    assert desk.status()["erasing"] == 1
    desk.start()
    assert desk.updater.wait_for(lambda: desk.status()["erasing"] == 0, 120)
    assert sorted(desk.predictor.current().model.ids_.tolist()) == numbers[1:]
    desk.close()


def test_backup_of_a_running_server_is_opened_in_place(tmp_path):
    folder, file = tmp_path / "desk", tmp_path / "copy.desk"
    desk = TaggingServer(folder)
    desk.start()
    added(desk, 15)
    wait_for_model(desk)
    backup(folder, file)
    added(desk, 1, seed=9)
    desk.close()
    copy = TaggingServer(file)
    copy.start()
    assert copy.updater.wait_for(lambda: copy.predictor.published is not None, 120)
    assert copy.status()["items"]["done"] == 15
    tuned = copy.predictor.current().model.influence_
    copy.close()
    assert repr(tuned) == repr(snapshot_of(folder).influence_)  # the backup contains the model


@pytest.mark.parametrize("above", [None, 0.6])
def test_automatic_tags_require_accept_above(tmp_path, above):
    desk = TaggingServer(tmp_path, accept_above=above)
    desk.start()
    added(desk, 40)
    waiting = added(desk, 10, seed=1, done=False)
    wait_for_model(desk)
    waits = "JOIN items i ON i.id = t.item AND i.status = 'waiting'"
    tags = f"SELECT t.source, t.actor, t.probability FROM tags t {waits}"
    if above is None:
        assert desk.updater.wait_for(lambda: bool(desk.updater.insights["order"]), 120)
        assert desk.store.rows(tags) == []
    else:
        assert desk.updater.wait_for(lambda: bool(desk.store.rows(tags)), 120)
        found = [tuple(row) for row in desk.store.rows(tags)]
        assert {one[:2] for one in found} == {("automatic", "simlabel")}
        assert all(probability >= above for *_, probability in found)
    assert desk.status()["items"]["waiting"] == len(waiting)  # automatic tags do not mark items as done
    desk.close()


def test_other_hosts_require_tokens(tmp_path):
    command = [
        sys.executable,
        "-c",
        MAIN,
        "serve",
        str(tmp_path / "desk"),
        "--host",
        "0.0.0.0",
        "--port",
        "0",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "--new-token" in done.stderr
    created = subprocess.run(
        [*command[:5], "--new-token", "Ada:administration"], capture_output=True, text=True
    )
    assert created.stdout.startswith("sl_1_")
    assert created.stdout.strip() not in str(bytes_of(tmp_path / "desk"))
    with Server(tmp_path / "desk", "--host", "0.0.0.0") as server:
        client = server.client
        at = f"http://127.0.0.1:{server.address.rsplit(':', 1)[1]}"
        assert client.get(f"{at}api/labels").status_code == 401
        head = {"authorization": f"Bearer {created.stdout.strip()}"}
        assert client.get(f"{at}api/labels", headers=head).status_code == 200


def test_changes_after_closing_are_refused(desk):
    added(desk, 1)
    desk.store.close()
    with pytest.raises(ReadOnlyError, match="closing"):
        added(desk, 1)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_one_hour_of_mixed_load(tmp_path):
    """Memory stays constant, nothing fails, and store and model agree at the end."""
    import psutil

    minutes = float(os.environ.get("SIMLABEL_SOAK_MINUTES", "60"))
    folder, rng = tmp_path / "desk", random.Random(0)
    with Server(folder) as server:
        server.post("/api/items", {"items": made_items(300, seed=1)})
        server.wait_for_model()
        process, end, sizes, turn = psutil.Process(server.process.pid), time.monotonic() + 60 * minutes, [], 0
        live = list(range(1, 301))
        while time.monotonic() < end:
            turn += 1
            number = rng.choice(live)
            server.post("/api/suggest", {"rows": [made_row(rng)[0] for _ in range(rng.choice([1, 1, 5]))]})
            label = rng.choice(["horror", "romance", "crime", "space"])
            server.post(f"/api/items/{number}/{rng.choice(['tags', 'reject', 'clear'])}", {"label": label})
            if turn % 20 == 0:
                (new,) = server.post("/api/items", {"items": made_items(1, seed=1000 + turn)})["ids"]
                removed = live.pop(0)
                server.post(f"/api/items/{removed}/forget")
                live.append(new)
            server.get("/api/queue"), server.get("/api/labels")
            if turn % 50 == 0:
                sizes.append(process.memory_info().rss)
            time.sleep(0.05)
        early, late = sizes[len(sizes) // 4 : len(sizes) // 2], sizes[-max(1, len(sizes) // 4) :]
        server.wait_for_model()
        assert server.end()[0] == 0
    assert_journal_is_the_truth(folder, tmp_path / "again.sqlite")
    assert_model_is_a_fresh_fit(folder)
    assert sorted(late)[len(late) // 2] <= 1.05 * sorted(early)[len(early) // 2]
