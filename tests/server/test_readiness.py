"""Readiness of the server, and uploads to a full disk."""

from __future__ import annotations

import asyncio
import csv
import os
import time
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from desk_support import Server, made_items

from simlabel.server import make_app

TABLE = b"id,title,tags\na,shark night,horror\nb,love kiss,romance\n"


def answer(desk, method, path, **more):
    async def send():
        transport = httpx.ASGITransport(app=make_app(desk))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, **more)

    return asyncio.run(send())


def test_server_is_not_ready_before_the_first_model(tmp_path):
    table = tmp_path / "films.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "title", "plot", "tags"])
        for item in made_items(300, seed=1):
            content = item["content"]
            writer.writerow([item["name"], content["title"], content["plot"], "|".join(item["tags"])])
    options = ("--import", str(table), "--label-column", "tags", "--id", "name")
    with Server(tmp_path / "desk", *options) as server:
        seen = set()
        while seen.isdisjoint({("suggest", 200)}):
            time.sleep(0.1)  # fewer requests a second than the server refuses
            ready = server.client.get("/readyz")
            found = server.client.post("/api/suggest", json={"rows": [{"title": "shark"}]})
            seen |= {("ready", ready.status_code), ("suggest", found.status_code)}
            for one in (ready, found):
                assert one.status_code in (200, 503), one.text
                assert one.status_code == 200 or int(one.headers["retry-after"]) > 0
        assert ("ready", 503) in seen
        assert server.client.get("/readyz").status_code == 200


def test_empty_server_is_ready_and_explains_what_to_tag(desk):
    desk.start()
    assert answer(desk, "GET", "/readyz").status_code == 200
    found = answer(desk, "POST", "/api/suggest", json={"rows": [{"title": "shark"}]})
    assert found.status_code == 409
    assert "tag at least two items" in found.json()["detail"]


def test_server_with_a_full_disk_is_not_ready(desk, monkeypatch):
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_bavail=1, f_frsize=4096))
    ready = answer(desk, "GET", "/readyz")
    assert ready.status_code == 503
    assert "disk is full" in ready.json()["problems"][0]


def test_upload_to_a_full_disk_is_refused_with_advice(desk, tmp_path, monkeypatch):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no full device")
    place = tmp_path / "half"
    place.symlink_to("/dev/full")
    monkeypatch.setattr(desk.imports, "place", lambda: place)
    found = answer(desk, "POST", "/api/imports", content=TABLE)
    assert found.status_code == 507
    assert "Free some room" in found.json()["detail"]
    assert desk.store.rows("SELECT 1 FROM jobs") == []
    assert not place.is_symlink()


def test_repeated_import_with_a_key_is_one_import(desk):
    desk.imports.start()

    def send(key, content=TABLE, **options):
        head = {"idempotency-key": key} if key else {}
        return answer(desk, "POST", "/api/imports", content=content, params=options, headers=head)

    first = send("k", label_column="tags", id_column="id")
    assert first.status_code == 202
    assert send("k", label_column="tags", id_column="id").json()["id"] == first.json()["id"]
    assert len(desk.store.rows("SELECT 1 FROM jobs")) == 1
    for other in (send("k", label_column="tags"), send("k", TABLE + b"c,x,y\n", label_column="tags")):
        assert other.status_code == 409
        assert "idempotency key" in other.json()["detail"]
    assert send("", label_column="tags", id_column="id").json()["id"] != first.json()["id"]
