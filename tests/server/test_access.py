"""Authentication by tokens and the socket address, never by headers; the routes of each role."""

from __future__ import annotations

import asyncio
import socket
from contextlib import contextmanager

import httpx
import pytest
import uvicorn
from desk_support import ADMIN, Server, raw_request
from uvicorn.server import ServerState

from simlabel.server import Connection, TaggingServer, make_app, network_of, new_token

ROLES = ("reading", "tagging", "administration")
# routes that need no authentication, and routes that need more than the role reading
OPEN = {"GET /healthz", "GET /readyz"}
SIGN_IN = "POST /api/session"  # the request has no token, so that signing in fails
TAGGING = {
    "POST /api/items",
    "PUT /api/items/{number}",
    "DELETE /api/items/{number}",
    "POST /api/items/{number}/done",
    "POST /api/items/{number}/reopen",
    "POST /api/items/{number}/tags",
    "POST /api/items/{number}/reject",
    "POST /api/items/{number}/clear",
    "POST /api/changes/{number}/undo",
    "POST /api/undo",
    "POST /api/queue/next",
    "POST /api/queue/{number}/lease",
    "POST /api/queue/{number}/release",
    "POST /api/labels",
    "POST /v1/projects/{project_id}/learn",
}
ADMINISTRATION = {
    "POST /api/items/{number}/forget",
    "PATCH /api/labels/{number}",
    "DELETE /api/labels/{number}",
    "POST /api/labels/{number}/merge",
    "POST /api/retune",
    "POST /api/imports",
    "DELETE /api/jobs/{number}",
    "GET /api/tokens",
    "POST /api/tokens",
    "DELETE /api/tokens/{number}",
}
READING_POSTS = {
    "POST /api/suggest",
    "DELETE /api/session",
    "POST /v1/projects/{project_id}/suggest",
    "POST /v1/projects/{project_id}/suggest-batch",
}


@contextmanager
def opened_desk(folder):
    desk = TaggingServer(folder)
    try:
        yield desk
    finally:
        desk.close()


def sent(app, requests, client=("127.0.0.1", 5000)):
    """Return the responses to requests, each given as method, path and headers, from an address."""

    async def send():
        transport = httpx.ASGITransport(app=app, client=client)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as session:
            return [
                await session.request(method, path, headers=head, json={}) for method, path, head in requests
            ]

    return asyncio.run(send())


def test_every_route_with_every_role(tmp_path):
    tokens = {role: new_token(tmp_path / "desk", role, role) for role in ROLES}
    tokens["revoked"] = new_token(tmp_path / "desk", "revoked", "administration")
    heads = {name: {"authorization": f"Bearer {secret}"} for name, secret in tokens.items()} | {"none": {}}
    with opened_desk(tmp_path / "desk") as desk:
        app = make_app(desk)
        (document,) = sent(app, [("GET", "/api/openapi.json", {})])
        routes = {
            f"{method.upper()} {path}"
            for path, methods in document.json()["paths"].items()
            for method in methods
        }
        declared = OPEN | TAGGING | ADMINISTRATION | READING_POSTS | {SIGN_IN}
        assert declared <= routes
        assert {route for route in routes - declared if not route.startswith("GET ")} == set()
        (revoked,) = sent(app, [("DELETE", "/api/tokens/4", heads["administration"])])
        assert revoked.status_code == 200
        requested = [(route, name) for route in sorted(routes) for name in heads]
        requests = [(*_address(route), heads[name]) for route, name in requested]
        wrong = [
            (route, name, answer.status_code)
            for (route, name), answer in zip(requested, sent(app, requests), strict=True)
            if _kind(answer.status_code) != _request_spec(route, name)
        ]
        assert wrong == []


def _address(route):
    method, path = route.split()
    return method, path.format(number=999, project_id="simlabel")


def _request_spec(route, name):
    if route in OPEN:
        return "answered"
    if name in ("none", "revoked") or route == SIGN_IN:
        return 401
    needed = "administration" if route in ADMINISTRATION else "tagging" if route in TAGGING else "reading"
    return "answered" if ROLES.index(name) >= ROLES.index(needed) else 403


def _kind(status):
    return status if status in (401, 403) else "answered"


@pytest.mark.parametrize(
    ("client", "headers", "status"),
    [
        ("127.0.0.1", {}, 200),
        ("::1", {}, 200),
        ("::ffff:127.0.0.1", {}, 200),
        ("203.0.113.9", {}, 403),
        ("203.0.113.9", {"x-forwarded-for": "127.0.0.1"}, 403),
        ("127.0.0.1", {"host": "evil.example"}, 403),
        ("127.0.0.1", {"x-forwarded-for": "203.0.113.9"}, 403),
        ("127.0.0.1", {"host": "["}, 403),
    ],
)
def test_without_tokens_the_socket_address_decides(tmp_path, client, headers, status):
    with opened_desk(tmp_path / "desk") as desk:
        app = make_app(desk)
        answers = sent(
            app, [("GET", "/api/labels", headers), ("POST", "/api/session", headers)], (client, 5000)
        )
        assert [answer.status_code for answer in answers] == [status, status]


def test_session_without_token_works_on_this_machine_only(tmp_path):
    with opened_desk(tmp_path / "desk") as desk:
        app = make_app(desk)
        (signed,) = sent(app, [("POST", "/api/session", {})])
        cookie = {"cookie": signed.headers["set-cookie"].partition(";")[0]}
        requested = [("GET", "/api/labels", cookie)]
        assert sent(app, requested)[0].status_code == 200
        assert sent(app, requested, ("203.0.113.9", 5000))[0].status_code == 403


def test_last_administration_token_of_an_exposed_server_cannot_be_revoked(tmp_path):
    first = {"authorization": f"Bearer {new_token(tmp_path / 'desk', 'Ada', 'administration')}"}
    with Server(tmp_path / "desk", "--behind-proxy") as server:
        server.post("/api/tokens", {"name": "Bob", "role": "tagging"}, headers=first)
        refused = server.client.delete("/api/tokens/1", headers=first)
        assert refused.status_code == 409
        assert "last one for administration" in refused.json()["detail"]
        assert server.client.get("/api/labels", headers={"host": "localhost"}).status_code == 401
        other = server.post("/api/tokens", {"name": "Eve", **ADMIN}, headers=first)
        assert server.client.delete("/api/tokens/1", headers=first).status_code == 200
        assert server.client.get("/api/labels", headers=first).status_code == 401
        second = {"authorization": f"Bearer {other['token']}"}
        assert server.client.delete(f"/api/tokens/{other['id']}", headers=second).status_code == 409


def test_exposed_server_requires_tokens(tmp_path):
    """Also if the tokens were removed without using the API."""
    with opened_desk(tmp_path / "desk") as desk:
        desk.people.exposed = True
        (answer,) = sent(make_app(desk), [("GET", "/api/labels", {"host": "localhost"})])
        assert answer.status_code == 401


def test_proxy_headers_are_trusted_only_with_behind_proxy(tmp_path):
    token = new_token(tmp_path / "desk", "Ada", "administration")
    for options, secure in [((), False), (("--behind-proxy",), True)]:
        with Server(tmp_path / "desk", *options) as server:
            head = {"x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.9"}
            signed = server.client.post("/api/session", json={"token": token}, headers=head)
            assert signed.status_code == 200
            assert ("secure" in signed.headers["set-cookie"].lower()) == secure


def test_behind_proxy_requires_tokens(tmp_path):
    with pytest.raises(RuntimeError, match=r"behind a proxy .* --new-token"):
        Server(tmp_path / "desk", "--behind-proxy")


@pytest.mark.parametrize("origin", ["http://[", "http://localhost:99999999", "//", "null", "\x7f"])
def test_invalid_origin_counts_as_another_site(local, origin):
    answer = local.client.post("/api/undo", headers={"origin": origin})
    assert answer.status_code == 403


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A server for requests that change nothing."""
    with Server(tmp_path_factory.mktemp("running") / "desk") as server:
        yield server


def test_content_length_with_transfer_encoding_is_refused(running):
    head = b"POST /api/undo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
    head += b"Transfer-Encoding: chunked\r\n\r\n"
    answer = raw_request(running.address, head + b"2\r\n{}\r\n0\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"not both" in answer


def test_users_with_token_are_answered_during_a_flood_without_tokens(tmp_path):
    head = {"authorization": f"Bearer {new_token(tmp_path / 'desk', 'Ada', 'reading')}"}
    with opened_desk(tmp_path / "desk") as desk:
        flood = [
            ("GET", "/api/labels", {"authorization": "Bearer wrong"} if i % 2 else {}) for i in range(1500)
        ]
        answers = sent(make_app(desk), [*flood, *[("GET", "/api/labels", head)] * 20])
        assert {answer.status_code for answer in answers[:-20]} <= {401, 429}
        assert {answer.status_code for answer in answers[-20:]} == {200}


@pytest.mark.parametrize(
    ("client", "counts"),
    [
        ("198.51.100.7", "198.51.100.7"),
        ("::ffff:198.51.100.7", "198.51.100.7"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:ffff:ffff:ffff", "2001:db8::/64"),
        ("x" * 60_000, "?"),
    ],
)
def test_rate_limit_applies_to_networks(client, counts):
    assert network_of(client) == counts


def test_request_size_is_limited_without_authentication(tmp_path):
    token = new_token(tmp_path / "desk", "Ada", "administration")
    with Server(tmp_path / "desk") as server:
        body = b" " * (1 << 20)
        assert server.client.post("/api/session", content=body).status_code == 413
        assert server.client.post("/api/suggest", content=body).status_code == 401
        head = {"authorization": f"Bearer {token}"}
        assert server.client.post("/api/suggest", content=body, headers=head).status_code == 422


def test_incomplete_request_changes_nothing(running):
    """The body is valid JSON so far, but shorter than announced."""
    host, port = running.address.removeprefix("http://").strip("/").split(":")
    body = b'{"name": "half a request"}'
    with socket.create_connection((host, int(port))) as connection:
        head = b"POST /api/labels HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        connection.sendall(head + b"Content-Length: 1000\r\n\r\n" + body)
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(60)
        connection.recv(1000)
    assert running.get("/api/labels")["labels"] == []


def test_invalid_data_after_a_request_does_not_prevent_its_answer(caplog):
    """The data arrives while the request before it, the last one of the connection, is being answered."""

    async def replace_rows():
        go = asyncio.Event()

        async def app(scope, receive, send):
            await go.wait()
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body"})

        config = uvicorn.Config(app, log_config=None)
        loop, state = asyncio.get_running_loop(), ServerState()
        server = await loop.create_server(lambda: Connection(config, state, {}), "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        for data in (b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", b"more"):
            writer.write(data)
            await asyncio.sleep(0.2)
        go.set()
        answer = await reader.read()
        writer.close()
        server.close()
        return answer

    assert asyncio.run(replace_rows()).startswith(b"HTTP/1.1 204 ")
    assert "Exception" not in caplog.text
