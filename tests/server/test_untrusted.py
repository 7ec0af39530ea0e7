"""Stores, backups and models from untrusted sources: no file outside the folder is read or written."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys

import pytest
from desk_support import bytes_of, made_row

from simlabel import Tagger
from simlabel.server import (
    ServerError,
    StoreError,
    StorePaths,
    TaggingServer,
    User,
    backup,
    changes,
    load_model,
)
from simlabel.tables import Embedding

ADA = User("Ada", "administration")


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """Return a folder with a store, a model and a backup of both."""
    folder = tmp_path_factory.mktemp("learned")
    desk = TaggingServer(folder / "desk")
    desk.start()
    rows = [made_row(random.Random(i)) for i in range(10)]
    new = [changes.NewItem(content, None, tags, True) for content, tags in rows]
    desk.change(ADA, lambda by: changes.add_items(by, new).ids).result()
    position = desk.status()["position"]
    assert desk.updater.wait_for(lambda: desk.updater.state["position"] >= position, 120)
    desk.close()
    backup(folder / "desk", folder / "copy.slb")
    return folder


@pytest.fixture
def copied(learned, tmp_path):
    """Return copies of both, next to a folder that does not belong to the server."""
    shutil.copytree(learned / "desk", tmp_path / "desk")
    shutil.copy(learned / "copy.slb", tmp_path)
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "secret").write_text("PRIVATE KEY")
    return tmp_path


def edited(store, *statements):
    db = sqlite3.connect(store)
    for statement in statements:
        db.execute(*statement) if isinstance(statement, tuple) else db.execute(statement)
    db.commit()
    db.close()


def imputed(path, seconds=60):
    """Open a store and wait for its model; return None if the store is refused."""
    try:
        desk = TaggingServer(path)
    except ServerError:
        return
    desk.start()
    desk.updater.wait_for(lambda: desk.predictor.published is not None, seconds)
    desk.close()


def outside(folder):
    return bytes_of(folder / "others"), sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("name", "opened"),
    [
        ("/etc/hostname", "desk"),
        ("../../others/new", "copy.slb"),
        ("x\0y", "desk"),
    ],
)
def test_model_name_in_the_store_is_never_used_as_a_path(copied, name, opened):
    for store in (copied / "copy.slb", copied / "desk" / "desk.sqlite"):
        edited(store, ("UPDATE snapshot SET file = ?", (name,)))
    before, _ = outside(copied)
    with pytest.raises(ServerError):
        backup(copied / "desk", copied / "stolen.slb")
    imputed(copied / opened)
    assert outside(copied)[0] == before
    assert not (copied / "stolen.slb").exists()


def test_backup_does_not_follow_links(copied):
    (model,) = (copied / "desk" / "models").iterdir()
    model.unlink()
    model.symlink_to(copied / "others" / "secret")
    with pytest.raises(StoreError, match="never writes"):
        backup(copied / "desk", copied / "stolen.slb")


@pytest.mark.parametrize("folder", ["models", "incoming"])
def test_link_instead_of_a_folder_is_refused(copied, folder):
    place = copied / "desk" / folder
    shutil.rmtree(place, ignore_errors=True)
    place.symlink_to(copied / "others")
    before = outside(copied)
    with pytest.raises(StoreError, match="is a link"):
        TaggingServer(copied / "desk")
    assert outside(copied) == before


@pytest.mark.parametrize("name", ["lock", "desk.sqlite-wal", "desk.sqlite-shm", "desk.sqlite-journal"])
def test_links_next_to_the_store_are_not_followed(copied, name):
    (copied / "desk" / name).unlink(missing_ok=True)
    (copied / "desk" / name).symlink_to(copied / "others" / "secret")
    before, _ = outside(copied)
    imputed(copied / "desk")
    assert outside(copied)[0] == before


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON journal BEGIN DELETE FROM items; END",
        "CREATE VIEW v AS SELECT * FROM tokens",
        "ALTER TABLE items ADD COLUMN more TEXT",
        "DROP INDEX tags_by_label",
        "CREATE TABLE more (a)",
        "CREATE TABLE carried AS SELECT '/tmp/x/authorized_keys' AS name, x'41' AS data",
        "UPDATE items SET content = 'no JSON' WHERE id = 1",
        "UPDATE journal SET changes = '{}' WHERE seq = 1",
    ],
)
def test_store_with_a_different_schema_is_refused(copied, statement):
    edited(copied / "copy.slb", statement)
    before = bytes_of(copied)
    with pytest.raises(StoreError, match="open the last backup"):
        TaggingServer(copied / "copy.slb")
    assert bytes_of(copied) == before


def test_values_that_violate_a_constraint_are_refused(copied):
    db = sqlite3.connect(copied / "copy.slb")
    db.execute("PRAGMA ignore_check_constraints = ON")
    db.execute("UPDATE items SET status = 'odd' WHERE id = 1")
    db.commit()
    db.close()
    with pytest.raises(StoreError, match="CHECK constraint failed"):
        TaggingServer(copied / "copy.slb")


def test_connections_do_not_trust_the_schema(copied):
    desk = TaggingServer(copied / "desk")
    assert desk.store.rows("PRAGMA trusted_schema")[0][0] == 0
    desk.close()


def test_database_of_another_program_is_left_unchanged(tmp_path):
    (tmp_path / "desk").mkdir()
    store = tmp_path / "desk" / "desk.sqlite"
    edited(store, "CREATE TABLE x (y)")
    before = bytes_of(tmp_path)
    with pytest.raises(StoreError, match="another program"):
        TaggingServer(tmp_path / "desk")
    assert bytes_of(tmp_path) == before


def test_model_with_an_embedding_is_refused(tmp_path):
    model = Tagger().fit([{"a": "x y"}, {"a": "z w"}], [{"p"}, {"q"}])
    encoder = model.encoder_
    encoder.columns = {"a": Embedding(str(tmp_path / "others"))}
    model.save(tmp_path / "odd.simlabel")
    with pytest.raises(StoreError, match="names an embedding"):
        load_model(tmp_path / "odd.simlabel")


def test_store_is_opened_once_by_any_path(tmp_path):
    code = """if True:
        import sys
        from simlabel.server import StoreError, TaggingServer
        for path in sys.argv[1:]:
            try:
                TaggingServer(path)
                print("opened", path)
            except StoreError:
                print("refused")
    """
    others = [
        tmp_path / other for other in ("desk/desk.sqlite", "link", "linked/desk.sqlite", "hard/desk.sqlite")
    ]
    desk = TaggingServer(tmp_path / "desk")
    try:
        (tmp_path / "link").symlink_to(tmp_path / "desk")
        for name, link in (("linked", os.symlink), ("hard", os.link)):
            (tmp_path / name).mkdir()
            link(tmp_path / "desk" / "desk.sqlite", tmp_path / name / "desk.sqlite")
        done = subprocess.run([sys.executable, "-c", code, *others], capture_output=True, text=True)
    finally:
        desk.close()
    assert done.stdout.split() == ["refused"] * 4, done.stderr


def test_subfolders_in_the_server_folders_are_ignored(copied):
    (copied / "desk" / "incoming" / "sub").mkdir(parents=True)
    (copied / "desk" / "models" / "sub").mkdir()
    desk = TaggingServer(copied / "desk")
    desk.start()
    assert desk.updater.wait_for(lambda: desk.predictor.published is not None, 60)
    number = desk.store.rows("SELECT max(id) AS id FROM items")[0]["id"]
    assert desk.forget(ADA, number, 120) == {"erased": True, "remains": []}
    desk.close()


@pytest.mark.parametrize("damage", ["file = 'x'", "position = 10000"])
def test_model_is_fitted_again_if_its_entry_is_damaged(copied, damage):
    edited(copied / "desk" / "desk.sqlite", f"UPDATE snapshot SET {damage}")
    desk = TaggingServer(copied / "desk")
    desk.start()
    position = desk.status()["position"]
    assert desk.updater.wait_for(lambda: desk.updater.state["position"] == position, 60)
    assert desk.predictor.published is not None
    assert desk.updater.wait_for(lambda: not desk.problems(), 30)
    desk.close()


def test_next_backup_removes_the_files_of_a_killed_one(copied):
    code = (
        "import sys, time; from pathlib import Path; from simlabel.server import _schema, backup\n"
        "def slow(places, target):\n"
        "    before(places, target); print('here', flush=True); time.sleep(60)\n"
        "before, _schema._copy = _schema._copy, slow\n"
        "backup(*sys.argv[1:])"
    )
    target = copied / "new" / "b.slb"
    target.parent.mkdir()
    command = [sys.executable, "-c", code, copied / "desk", target]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"here\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert len(list(target.parent.rglob("*"))) >= 1
    backup(copied / "desk", target)
    assert list(target.parent.rglob("*")) == [target]


def test_paths_of_a_backup_are_next_to_it(tmp_path):
    (tmp_path / "b.slb").write_bytes(b"")
    (tmp_path / "link").symlink_to(tmp_path / "b.slb")
    assert StorePaths.of(tmp_path / "link") == StorePaths.of(tmp_path / "b.slb")
    assert StorePaths.of(tmp_path / "b.slb").models == tmp_path / "b.slb.desk" / "models"
