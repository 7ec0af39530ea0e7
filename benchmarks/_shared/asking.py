"""Those who ask a server for a benchmark: what they take for themselves is little, and the same for all."""

from __future__ import annotations

import asyncio
import http.client
import json
import time
from typing import Any
from urllib.parse import urlencode, urlsplit

_AHEAD = 0.002  # seconds: a sleep ends up to a millisecond late, so the last of it is waited for awake


async def until(due: float) -> None:
    """Wait for a moment of `time.perf_counter`, to a few microseconds."""
    await asyncio.sleep(max(0.0, due - time.perf_counter() - _AHEAD))
    while time.perf_counter() < due:
        await asyncio.sleep(0)


class Client:
    """JSON over connections that stay open, as many as there are questions at once.

    A general client takes one to three milliseconds of its own for a request, as long as the answer.
    """

    def __init__(self, address: str) -> None:
        place = urlsplit(address)
        self._host, self._port = place.hostname, place.port
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def get(self, path: str) -> tuple[int, Any]:
        """Status and answer."""
        return await self.send("GET", path)

    async def post(self, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and answer to something that is sent as JSON."""
        return await self.send("POST", path, b"" if body is None else json.dumps(body).encode())

    async def send(self, method: str, path: str, body: bytes = b"") -> tuple[int, Any]:
        """Status and answer to bytes."""
        one = self._free.pop() if self._free else await asyncio.open_connection(self._host, self._port)
        reader, writer = one
        head = f"{method} {path} HTTP/1.1\r\nhost: {self._host}:{self._port}\r\n"
        head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
        length = next(int(line.partition(":")[2]) for line in lines if line.startswith("content-length:"))
        answer = json.loads(await reader.readexactly(length))
        if "connection: close" in lines:
            writer.close()
        else:
            self._free.append(one)
        return int(lines[0].split()[1]), answer

    def close(self) -> None:
        """Close what is open."""
        for _, writer in self._free:
            writer.close()


class Forms:
    """Forms over one connection that stays open, one after the other, as Annif's interface takes them."""

    def __init__(self, address: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=120)

    def post(self, path: str, **fields: Any) -> Any:
        """The answer to a form, which is JSON."""
        kind = {"content-type": "application/x-www-form-urlencoded"}
        self._connection.request("POST", path, urlencode(fields), kind)
        return json.loads(self._connection.getresponse().read())
