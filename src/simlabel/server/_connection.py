"""Connections: how long the server waits for a client, and how many connections there may be."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from ipaddress import ip_address
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if sys.platform != "win32":
    import resource

_HEAD_SECONDS = 10.0  # from the first byte of a request, or from the connection on, until its head is whole
_WRITE_SECONDS = 20.0  # for which a client may leave an answer unread
_MOST, _MOST_EACH = 1000, 100  # connections at once, and of one address
_LOG_SECONDS = 60.0  # between two lines about the same error

_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
)
_logged: dict[str, float] = {}  # when an error was logged last, by kind

log = logging.getLogger("simlabel.server")


def is_loopback(host: str) -> bool:
    """Return whether an address is the loopback address of this machine."""
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def most_connections() -> int:
    """Return how many connections there may be: half of the file descriptors, at most 1000."""
    if sys.platform == "win32":
        return _MOST
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if descriptors == resource.RLIM_INFINITY else max(8, min(_MOST, descriptors // 2))


class Connection(H11Protocol):
    """An HTTP connection with deadlines, which gives way to new ones while it waits for its client.

    uvicorn's own connection waits forever for a request that has begun, and for a client that does not
    read. Where there are too many connections, of one address or of all, the one that has waited longest
    for its client is closed; those whose request is complete are not.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, and make room for it."""
        super().connection_made(transport)
        self._timers = dict[str, asyncio.TimerHandle]()
        self.heard = self.loop.time()
        self._arm("head", _HEAD_SECONDS)
        self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clocks."""
        for what in ("head", "write"):
            self._disarm(what)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what the client sends; a head has a deadline that more bytes do not extend."""
        self.heard = self.loop.time()
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._disarm("head")
        elif "head" not in self._timers:
            self._arm("head", _HEAD_SECONDS)

    def pause_writing(self) -> None:
        """Wait for a client that does not read, but not forever."""
        super().pause_writing()
        self._arm("write", _WRITE_SECONDS)

    def resume_writing(self) -> None:
        """Go on: the client reads."""
        self._disarm("write")
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP; what follows a whole request does not keep that from being answered."""
        if self.cycle is not None and not self.cycle.response_complete:
            if not self.cycle.more_body:
                self.cycle.keep_alive = False
                return
            self.cycle.disconnected = True  # what the application still sends is dropped
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.abort()

    def _arm(self, what: str, seconds: float) -> None:
        self._disarm(what)
        self._timers[what] = self.loop.call_later(seconds, self.transport.abort)

    def _disarm(self, what: str) -> None:
        if (timer := self._timers.pop(what, None)) is not None:
            timer.cancel()

    def _make_room(self) -> None:
        """Close what has waited longest, of this address where it has too many, else of all."""
        others = [one for one in self.connections if isinstance(one, Connection) and one is not self]
        same = [one for one in others if one.address == self.address]
        proxied = self.config.proxy_headers and is_loopback(self.address)  # it brings those of all others
        if len(same) >= _MOST_EACH and not proxied:
            self._close_oldest(same)
        elif len(others) >= most_connections():
            self._close_oldest(others)

    def _close_oldest(self, among: list[Connection]) -> None:
        oldest = min((one for one in among if one.waits), key=lambda one: one.heard, default=None)
        if oldest is None:
            self.transport.write(_BUSY)
            self.transport.close()
        else:
            self.connections.discard(oldest)  # now: it is lost in the next turn of the loop
            oldest.transport.abort()

    @property
    def address(self) -> str:
        """The client's address, as the socket has it."""
        return self.client[0] if self.client else ""

    @property
    def waits(self) -> bool:
        """Whether it waits for its client: for a request, or for the rest of one."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body


def log_once(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log each kind of error of the event loop, such as a lack of descriptors, once a minute in one line."""
    error = context.get("exception")
    kind = f"{context['message']} ({type(error).__name__})"
    now = time.monotonic()
    if now - _logged.get(kind, -_LOG_SECONDS) >= _LOG_SECONDS:
        _logged[kind] = now
        log.error("%s; further errors of this kind are not logged for a minute", kind)
