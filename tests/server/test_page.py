"""The page in a real browser: tagging, two users, undo, an import, a crash."""

from __future__ import annotations

import csv
import os
import re
import shutil
from pathlib import Path

import pytest
from desk_support import Server, made_items

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")
PICTURES = os.environ.get("SIMLABEL_PICTURES")  # the folder for screenshots for the docs, if any

SHOWN = ("inbox", "why", "labels", "quality", "inbox-dark-desktop", "inbox-light-phone")  # in docs/desk.md


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def page_of(browser):
    """Open a new browser context at a server; errors on the page fail the test."""
    contexts, errors = [], []

    def open_page(server, token=None, **options):
        context = browser.new_context(base_url=server.address, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto("/")
        if token is not None:
            page.get_by_label("Token").fill(token)
            page.get_by_role("button", name="Sign in").click()
        return page

    yield open_page
    for context in contexts:
        context.close()
    # the browser reports refused requests as errors; the page shows them
    assert [error for error in errors if "Failed to load resource" not in error] == []


def picture(page, name):
    if PICTURES and name in SHOWN:
        page.screenshot(path=Path(PICTURES) / f"{name}.png")


def title(page):
    return page.locator("#card-title").inner_text()


def test_tagging_by_keyboard_only(taught, page_of):
    page = page_of(taught)
    page.locator(".suggestions li").first.wait_for()
    first = title(page)
    picture(page, "inbox")
    label = page.locator(".suggestions .name").first.inner_text()
    page.keyboard.press("1")
    page.get_by_role("button", name=f"Take back {label}").wait_for()
    assert "suggested, accepted by local" in page.locator(".tag").first.inner_text()
    rejected = page.locator(".suggestions .name").first.inner_text()
    page.keyboard.press("Shift+Digit1")
    page.locator(".tag.rejected", has_text=rejected).wait_for()
    assert rejected not in page.locator(".suggestions .name").all_inner_texts()
    page.keyboard.press("a")
    page.keyboard.type("written by hand")
    page.keyboard.press("Enter")
    page.locator(".tag", has_text="written by hand").wait_for()
    page.locator("#card-title").focus()
    page.keyboard.press("d")
    page.wait_for_function("was => document.querySelector('#card-title').textContent !== was", arg=first)
    number = taught.get("/api/items", params={"text": first})["items"][0]["id"]
    item = taught.get(f"/api/items/{number}")
    assert item["status"] == "done"
    assert {(tag["label"], tag["state"], tag["source"]) for tag in item["tags"]} == {
        (label, "present", "accepted"),
        (rejected, "rejected", "user"),
        ("written by hand", "present", "user"),
    }
    second = title(page)
    page.keyboard.press("s")
    page.wait_for_function("was => document.querySelector('#card-title').textContent !== was", arg=second)
    page.keyboard.press("u")  # undo the last change, done
    page.locator("#notice", has_text="Undone").wait_for()
    assert taught.get(f"/api/items/{number}")["status"] == "waiting"


def test_explanation_links_to_the_contributing_items(taught, page_of):
    page = page_of(taught)
    page.locator(".suggestions li").first.wait_for()
    page.keyboard.press("w")
    why = page.locator(".why")
    why.locator("a").first.wait_for()
    assert "shares" in why.inner_text()
    picture(page, "why")
    why.locator("a").first.click()
    page.get_by_role("heading", name="Item", exact=True).wait_for()
    assert "done by" in page.locator(".card .soft").first.inner_text()


def test_labels_are_merged_and_restored(taught, page_of):
    page = page_of(taught)
    taught.post("/api/labels", {"name": "Crime story"})
    page.goto("/#labels")
    page.get_by_role("button", name="Delete Crime story").wait_for()
    picture(page, "labels")
    page.get_by_label("Merge Crime story into").select_option(label="crime")
    page.locator("#notice", has_text="merged").wait_for()
    page.get_by_role("button", name="Delete Crime story").wait_for(state="detached")
    page.goto("/#history")
    page.get_by_role("button", name=re.compile("Undo change")).first.click()
    page.locator("#notice", has_text="is undone").wait_for()
    assert "Crime story" in [label["name"] for label in taught.get("/api/labels")["labels"]]


def test_quality_is_shown_and_retuning_ends(taught, page_of):
    page = page_of(taught)
    page.goto("/#quality")
    page.get_by_role("button", name="Retune").click()
    page.locator("#notice", has_text="Retun").first.wait_for()
    taught.wait(lambda status: not status["retuning"] and status["model_position"] >= status["position"])
    for _ in range(300):
        if taught.get("/api/quality")["now"]:
            break
        page.wait_for_timeout(200)
    page.goto("/#inbox")
    page.goto("/#quality")
    page.get_by_role("img", name=re.compile("How often")).wait_for()
    picture(page, "quality")


def imported(server, page, folder, rows):
    """Import a table through the page, and wait until the job is shown."""
    path = folder / "films.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "title", "plot", "tags"])
        for item in made_items(rows, seed=5):
            content = item["content"]
            writer.writerow([item["name"], content["title"], content["plot"], ";".join(item["tags"])])
        writer.writerow(["too long", "x" * 10, "plot", "y" * 300])
    page.goto("/#transfer")
    page.get_by_label("CSV, JSON Lines").set_input_files(path)
    page.get_by_label("Column of tags").fill("tags")
    page.get_by_label("Column of ids").fill("id")
    page.get_by_role("button", name="Import", exact=True).click()
    page.locator("section.card", has_text="films.csv").first.wait_for()


@pytest.mark.parametrize("rows", [400, pytest.param(30_000, marks=pytest.mark.slow)])
def test_an_import_shows_its_progress_and_survives_a_crash(tmp_path, page_of, rows):
    with Server(tmp_path / "desk") as server:
        page = page_of(server)
        imported(server, page, tmp_path, rows)
        picture(page, "import")
        server.kill()
    with Server(tmp_path / "desk", "--port", server.address.rsplit(":", 1)[1].strip("/")) as again:
        page.goto("/#transfer")
        done = page.locator("section.card", has_text=f"done · {rows + 1} of {rows + 1} rows")
        done.wait_for(timeout=600_000)
        assert "has 1 to 200 characters" in done.inner_text()
        assert again.get("/api/status")["items"] == {"waiting": 0, "done": rows}


def test_two_users_never_get_the_same_item(tmp_path, page_of):
    folder = tmp_path / "desk"
    with Server(folder) as server:
        server.post("/api/items", {"items": made_items(6, seed=3, done=False)})
        admin = server.post("/api/tokens", {"name": "Ada", "role": "administration"})["token"]
        head = {"authorization": f"Bearer {admin}"}
        bo = server.post("/api/tokens", {"name": "Bo", "role": "tagging"}, headers=head)["token"]
        pages = [page_of(server, token) for token in (admin, bo)]
        for page in pages:
            page.locator("#card-title").wait_for()
        seen = [title(page) for page in pages]
        assert seen[0] != seen[1]
        for _ in range(2):
            for page in pages:
                was = title(page)
                page.keyboard.press("d")
                page.wait_for_function(
                    "was => document.querySelector('#card-title')?.textContent !== was", arg=was
                )
                seen.append(title(page))
        assert len(set(seen)) == 6
        assert pages[1].get_by_role("link", name="UserStore").count() == 0
        assert pages[1].get_by_role("button", name="Forget…").count() == 0
        pages[1].goto("/#items")
        pages[1].locator("li", has_text="done by Ada").first.wait_for()


def test_forgetting_on_the_page_warns_about_backups(empty, page_of):
    empty.post("/api/items", {"items": made_items(2, seed=4, done=False)})
    page = page_of(empty)
    requested = []
    page.on("dialog", lambda dialog: requested.append(dialog.message))
    page.locator("#card-title").wait_for()
    was = title(page)
    page.get_by_role("button", name="Forget…").click()
    page.wait_for_function("was => document.querySelector('#card-title').textContent !== was", arg=was)
    assert "Backups that were made before still have it" in requested[0]
    assert empty.get("/api/items", params={"text": was})["items"] == []


@pytest.mark.parametrize(
    ("scheme", "size"), [("dark", (1280, 900)), ("light", (390, 800))], ids=["dark-desktop", "light-phone"]
)
def test_page_has_no_serious_accessibility_violation(taught, page_of, scheme, size):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe-core is not installed"
    ).Axe()
    width, height = size
    page = page_of(taught, viewport={"width": width, "height": height}, color_scheme=scheme)
    for view in ("inbox", "items", "labels", "quality", "transfer", "history", "people", "item/1"):
        page.goto(f"/#{view}")
        page.locator("#main h1").wait_for()
        page.wait_for_load_state("networkidle")
        picture(page, f"{view.replace('/', '-')}-{scheme}-{'phone' if width < 500 else 'desktop'}")
        found = axe.run(page).response["violations"]
        serious = [one for one in found if one["impact"] in ("serious", "critical")]
        assert [(one["id"], one["nodes"][0]["html"]) for one in serious] == [], view
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{view} is wider than the window"


def test_page_of_another_site_cannot_change_anything(taught, page_of):
    page = page_of(taught)
    page.locator("#main h1").wait_for()
    before = taught.get("/api/status")["position"]
    sent = """address => fetch(address + 'api/undo', {method: 'POST', mode: 'no-cors', credentials: 'include',
              headers: {'content-type': 'text/plain'}, body: '{}'}).then(() => 'sent', () => 'refused')"""
    other = page.context.new_page()
    other.goto("about:blank")
    other.evaluate(sent, taught.address)
    other.goto(taught.address.replace("127.0.0.1", "localhost"))  # another origin, the same desk
    other.evaluate(sent, taught.address)
    assert taught.get("/api/status")["position"] == before
