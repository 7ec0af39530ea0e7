"""A running tagging server and clients that are wrong, slow or rude: it answers, and never with a 500.

(A module called http would hide the standard library's.)
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

SECONDS = 60.0
PATIENCE = 30.0  # seconds in which whoever is well must have an answer

Rng = np.random.Generator
MAIN = "from simlabel.cli import main; main()"
# a client that is slow is waited for one second here, so that a case ends
HASTY = "import simlabel.server._serve as c, simlabel.server._middleware as g; "
HASTY += "import os, sys, threading; "
HASTY += "threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start(); "
HASTY += "c._HEAD_SECONDS = c._WRITE_SECONDS = g._SLOWEST = 1.0; g._PER_SECOND = g._BURST = 1e9; " + MAIN

ODD_JSON: list[Any] = [None, True, 0, -1, 1, 2**63, 10**400, 1.5, 1e308, "", "x", "\x00", "\ud800", "é" * 300]
ODD_JSON += ["x" * 300_000, [], [[]], {}, {"": ""}, [None] * 2000, {"a": {"b": []}}, [1, "a", None], "1e999"]
WORDS = [
    "label",
    "labels",
    "items",
    "rows",
    "content",
    "tags",
    "name",
    "text",
    "documents",
    "subjects",
    "into",
]
WORDS += ["limit", "threshold", "skip", "token", "role", "done", "probability", "description", "title", "uri"]
BODIES = [
    b"",
    b"{",
    b"[",
    b"\xff\xfe{\x00}\x00",
    b"\xef\xbb\xbf{}",
    b"\x00" * 100,
    b"[" * 100_000,
    b'{"a":' * 5000,
]
BODIES += [
    b"9" * 10_000,
    b"NaN",
    b'{"rows":[NaN]}',
    b'{"a":1,"a":2}',
    b'"\\ud800"',
    b"text=x&limit=9",
    b"text=%ff",
]
HEADERS = [
    b"Host",
    b"Origin",
    b"Cookie",
    b"Authorization",
    b"Content-Type",
    b"Content-Length",
    b"Accept",
    b"Via",
]
HEADERS += [
    b"Transfer-Encoding",
    b"Expect",
    b"Upgrade",
    b"Connection",
    b"Range",
    b"X-Forwarded-For",
    b"Forwarded",
]
HEADERS += [b"X-Forwarded-Proto", b"X-CSRF-Token", b"Idempotency-Key", b"If-None-Match", b"If-Modified-Since"]
HEADERS += [b"Content-Encoding", b"Sec-Fetch-Site", b"TE", b"Trailer", b"X", b"", b"\xff", b"a b"]
VALUES = [
    b"",
    b"[",
    b"http://[",
    b"http://[::1",
    b"//",
    b"chunked",
    b"gzip",
    b"identity, chunked",
    b"0",
    b"-1",
    b"1e3",
]
VALUES += [
    b"9" * 30,
    b"+5",
    b"100-continue",
    b"websocket",
    b"upgrade",
    b"close",
    b"Bearer ",
    b"Bearer \xff",
    b"Basic x",
]
VALUES += [
    b"Basic Og==",
    b"Bearer sl_1_x",
    b"simlabel_session=x",
    b"simlabel_session=\xff;;=",
    b"cross-site",
    b"\x80",
]
VALUES += [
    b"bytes=0-",
    b"bytes=5-1,-9",
    b"x" * 9000,
    b"application/json",
    b"application/json; charset=utf-16",
]
VALUES += [
    b"multipart/form-data; boundary=",
    b"text/plain",
    b"application/x-www-form-urlencoded",
    b"127.0.0.1",
    b"\t",
]
VALUES += [b"Thu, 99 Foo 0000 99:99:99 GMT", b"localhost:99999999", b'for="["', b"x" * 300, b"a,b,c" * 100]
# values that come near to what a header means; of the others most are refused before anybody reads them
APT = {
    b"Origin": [b"http://[", b"http://[::1", b"//", b"null", b"http://x:99999999", b"http://localhost"],
    b"Cookie": [b"simlabel_session=x", b"simlabel_session=", b"simlabel_session=\xff;;="],
    b"Authorization": [b"Bearer sl_1_x", b"Basic Og==", b"Basic x", b"Bearer \xff", b"Bearer sl_9999999999_"],
    b"X-Forwarded-For": [b"x" * 9000, b"[::1", b"1.2.3.4:x", b"127.0.0.1, ::1", b"fe80::1%x", b"\xff"],
    b"Idempotency-Key": [b"k", b"x" * 300, b"\xff"],
    b"If-Modified-Since": [b"Thu, 99 Foo 0000 99:99:99 GMT", b"x"],
    b"Range": [b"bytes=0-", b"bytes=5-1,-9", b"bytes=" + b"0-1," * 2000],
    b"Expect": [b"100-continue", b"x"],
    b"Transfer-Encoding": [b"chunked", b"gzip"],
}
TARGETS = [
    b"/",
    b"*",
    b"//",
    b"/static/../../etc/passwd",
    b"/static/%2e%2e/_serve.py",
    b"/static/%00",
    b"/%ff%fe",
    b"/?",
]
TARGETS += [
    b"http://evil.example/api/labels",
    b"/api/labels#x",
    b"/api//labels",
    b"/api/labels/",
    b"/static",
    b"/" * 9000,
]
TARGETS += [
    b"/api/items?limit=x&text=%00",
    b"/api/items?text=" + b"%25" * 300,
    b"/static/" + b"a" * 300,
    b"/\x00",
    b"/ x",
]


@dataclass
class Target:
    """A server in a process of its own, and what it serves."""

    process: subprocess.Popen[bytes] = field(init=False)
    port: int = 0
    token: str = ""
    routes: tuple[tuple[str, str], ...] = ()
    log: Path = Path()

    def start(self) -> None:
        """Start a server in a folder of its own; it ends when nobody holds its input any more."""
        folder = Path(tempfile.mkdtemp()) / "store"
        command = [sys.executable, "-c", HASTY, "serve", str(folder)]
        making = [sys.executable, "-c", MAIN, *command[3:], "--new-token", "Ada:administration"]
        token = subprocess.run(making, capture_output=True, check=True)
        self.token, self.log = token.stdout.decode().strip(), folder / "log"
        with self.log.open("wb") as log:
            command += ["--behind-proxy", "--port", "0"]
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
            )
        assert self.process.stdout is not None
        found = re.search(rb":(\d+)/", self.process.stdout.readline())
        assert found is not None, self.log.read_text()
        self.port = int(found[1])
        document = json.loads(self.well(b"/api/openapi.json"))
        self.routes = tuple(
            (method.upper(), path) for path, methods in document["paths"].items() for method in methods
        )
        items = [
            {"content": {"title": f"{word} night {i}"}, "tags": [word], "done": True}
            for i in range(6)
            for word in ("shark", "love")
        ]
        body = json.dumps({"items": items}).encode()
        head = f"POST /api/items HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n{self.right}"
        answer = self.replace_rows(head.encode() + b"Content-Type: application/json\r\n\r\n" + body)
        assert b" 201 " in answer[:20], answer[:300]

    @property
    def right(self) -> str:
        """The header that lets everything in."""
        return f"Authorization: Bearer {self.token}\r\nConnection: close\r\n"

    def connect(self) -> socket.socket:
        """A new connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def replace_rows(self, data: bytes) -> bytes:
        """What is answered to some bytes, until the connection is closed."""
        with self.connect() as connection:
            _send(connection, data)
            return _received(connection, PATIENCE)

    def well(self, path: bytes = b"/healthz", right: str = "Connection: close\r\n") -> bytes:
        """The body of an answer to a client that does everything right."""
        answer = self.replace_rows(b"GET " + path + b" HTTP/1.1\r\nHost: x\r\n" + right.encode() + b"\r\n")
        head, _, body = answer.partition(b"\r\n\r\n")
        assert b" 200 " in head[:20], f"{path!r} is answered {answer[:300]!r}"
        return body


def warm() -> Target:
    """Start the server that all cases share."""
    target = Target()
    target.start()
    return target


def case(target: Target, seed: int) -> None:
    """Some abuse, then a look whether the server is well."""
    rng = np.random.default_rng(seed)
    before = target.log.stat().st_size
    answers = b""
    with contextlib.ExitStack() as held:
        for _ in range(int(rng.integers(1, 6))):
            answers += pick(rng, KINDS)(rng, target, held)
        target.well()
        target.well(b"/api/labels", target.right)
    said = target.log.read_bytes()[before:].decode(errors="replace")
    assert "Traceback" not in said, said[-3000:]
    assert len(said) < 5000, said[:1000]
    codes = [int(code) for code in re.findall(rb"HTTP/1\.1 (\d{3}) ", answers)]
    assert not {500, 501, 502} & {*codes}, answers[:2000]


def pick(rng: Rng, choices: Any) -> Any:
    """One of them; numpy's choice would turn them into an array."""
    return choices[int(rng.integers(len(choices)))]


def _send(connection: socket.socket, data: bytes) -> None:
    with contextlib.suppress(ConnectionResetError, BrokenPipeError, TimeoutError):
        connection.sendall(data)


def _received(connection: socket.socket, seconds: float) -> bytes:
    """What comes until the other side closes, or for so many seconds."""
    found, end = b"", time.monotonic() + seconds
    with contextlib.suppress(ConnectionResetError, TimeoutError):
        while (left := end - time.monotonic()) > 0:
            connection.settimeout(left)
            piece = connection.recv(1 << 16)
            if not piece:
                break
            found += piece
    return found


def _shape(rng: Rng, depth: int = 0) -> Any:
    """JSON of some shape, with names that routes know."""
    kind = rng.integers(4)
    if depth > 3 or kind == 0:
        return pick(rng, ODD_JSON)
    if kind == 1:
        return [_shape(rng, depth + 1) for _ in range(int(rng.integers(4)))]
    return {str(pick(rng, WORDS)): _shape(rng, depth + 1) for _ in range(int(rng.integers(1, 4)))}


def _route(rng: Rng, target: Target) -> tuple[bytes, bytes]:
    method, path = pick(rng, target.routes)
    number = pick(rng, ["1", "3", "0", "-1", "9" * 25, "x", "%00", "1.0", "99999"])
    path = path.replace("{number}", number).replace("{project_id}", pick(rng, ["simlabel", "x", "%ff"]))
    if rng.random() < 0.2:
        query = {str(pick(rng, WORDS)): str(pick(rng, ["", "1", "-1", "x", "9" * 30, "%00", "nan"]))}
        path += "?" + "&".join(f"{name}={value}" for name, value in query.items())
    if method == "POST" and path.endswith("/tokens"):
        path = "/api/labels"  # another administrator could end the token of this campaign
    return method.encode(), path.encode()


def _head(rng: Rng, target: Target, odd: float) -> bytes:
    """A request line and headers without the empty line, some of them odd."""
    method, path = _route(rng, target)
    if rng.random() < odd:
        path = pick(rng, TARGETS)
    if rng.random() < odd:
        method = pick(
            rng, [b"OPTIONS", b"HEAD", b"TRACE", b"CONNECT", b"get", b"X" * 200, b"", b"G\x00T", b"PRI"]
        )
    version = (
        pick(rng, [b"HTTP/1.0", b"HTTP/2.0", b"HTTP/1.1 x", b""]) if rng.random() < odd / 4 else b"HTTP/1.1"
    )
    lines = [method + b" " + path + b" " + version]
    if rng.random() >= odd / 2:
        lines.append(b"Host: localhost")
    if rng.random() >= odd:
        lines.append(target.right.encode().strip())
    if rng.random() < odd:
        name = pick(rng, sorted(APT))
        lines.append(name + b": " + pick(rng, APT[name]))
    while rng.random() < odd / 2:
        end = pick(rng, [b"", b"", b"", b"\r", b" folded", b"\r\n folded", b"\x00"])
        lines.append(pick(rng, HEADERS) + pick(rng, [b": ", b":", b" : "]) + pick(rng, VALUES) + end)
    return b"\r\n".join(lines) + b"\r\n"


def _wrong_shape(rng: Rng, target: Target, held: contextlib.ExitStack) -> bytes:
    """A sound request with a body of another shape than the route takes."""
    body = pick(rng, BODIES) if rng.random() < 0.2 else json.dumps(_shape(rng)).encode()
    kind = b"application/json" if rng.random() < 0.9 else pick(rng, VALUES[24:30])
    name = pick(rng, sorted(APT)) if rng.random() < 0.3 else b"Accept"
    head = _head(rng, target, 0.0) + name + b": " + pick(rng, APT.get(name, [b"*/*"])) + b"\r\n"
    head += b"Content-Type: " + kind + b"\r\n"
    return target.replace_rows(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)


def _odd_head(rng: Rng, target: Target, held: contextlib.ExitStack) -> bytes:
    """A request with odd headers, perhaps with changed bytes."""
    data = bytearray(
        _head(rng, target, pick(rng, [0.1, 0.3, 0.6]))
        + b"\r\n"
        + (pick(rng, BODIES) if rng.random() < 0.3 else b"")
    )
    if rng.random() < 0.3:
        for at in rng.integers(len(data), size=int(rng.integers(1, 4))):
            data[at] = int(rng.integers(256))
    with target.connect() as connection:
        _send(connection, bytes(data))
        if rng.random() < 0.7:
            connection.shutdown(socket.SHUT_WR)
        return _received(connection, 3.0)


def _chunked(rng: Rng, target: Target, held: contextlib.ExitStack) -> bytes:
    """A chunked body, with wrong sizes, extensions, trailers, or without an end."""
    body, pieces = json.dumps(_shape(rng)).encode(), []
    for start in range(0, min(len(body), 4000), 997):
        piece = body[start : start + 997]
        size = b"%x" % len(piece)
        if rng.random() < 0.2:
            size = pick(
                rng, [b"-1", b"ffffffffffffffff", b"", b"g", b"0x5", b"5;x=" + b"y" * 5000, b" 5", b"0"]
            )
        pieces.append(size + b"\r\n" + piece + pick(rng, [b"\r\n"] * 9 + [b"", b"\n"]))
    end = pick(
        rng, [b"0\r\n\r\n", b"0\r\n\r\n", b"0\r\nX: y\r\n\r\n", b"", b"0\r\nContent-Length: 5\r\n\r\n"]
    )
    head = _head(rng, target, 0.0) + b"Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n"
    return target.replace_rows(head + b"".join(pieces) + end)


def _pipelined(rng: Rng, target: Target, held: contextlib.ExitStack) -> bytes:
    """Many requests at once; the answers are read late or never."""
    one = b"GET /api/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
    others = [_head(rng, target, 0.1).replace(b"Connection: close\r\n", b"") + b"\r\n" for _ in range(5)]
    connection = held.enter_context(target.connect())
    connection.settimeout(1.0)
    _send(connection, one * int(rng.integers(1, 30)) + b"".join(others))
    return _received(connection, 2.0) if rng.random() < 0.5 else b""


def _slow(rng: Rng, target: Target, held: contextlib.ExitStack) -> bytes:
    """Connections that say nothing, or stop in the middle of a head or a body."""
    for _ in range(int(rng.integers(1, 200))):
        connection = held.enter_context(target.connect())
        data = _head(rng, target, 0.1) + b"Content-Length: 1000\r\n\r\n{"
        _send(connection, data[: int(rng.integers(len(data) + 1))])
    return b""


def _rude(rng: Rng, target: Target, held: contextlib.ExitStack) -> bytes:
    """A connection that is reset in the middle of a request or of its answer."""
    with target.connect() as connection:
        body = b'{"rows": [{"title": "x"}]}' if rng.random() < 0.5 else b"a,b\n" * 50_000
        head = _head(rng, target, 0.0) + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        data = head % len(body) + body if b"%" not in head[:-30] else head + body
        _send(connection, data[: int(rng.integers(1, len(data) + 1))])
        if rng.random() < 0.5:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return b""


KINDS = [_wrong_shape, _wrong_shape, _wrong_shape, _odd_head, _odd_head, _chunked, _pipelined, _slow, _rude]
