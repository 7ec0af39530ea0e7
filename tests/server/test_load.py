"""Many, slow, idle and greedy clients: others are answered, and memory and log stay small."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import threading
import time
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
import scipy.sparse as sp
from desk_support import MAIN, Server, hasty_main

from simlabel.server import (
    MAX_TEXT,
    Published,
    RateLimiter,
    TaggingServer,
    TooLarge,
    TooManyRequests,
    asker,
    log_once,
    max_connections,
)


@pytest.fixture(scope="module")
def hasty(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("hasty") / "desk", main=hasty_main(0.5)) as server:
        yield server


def connected(server, source="127.0.0.1"):
    host, port = server.address.removeprefix("http://").strip("/").rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=60, source_address=(source, 0))


def few_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))


@pytest.mark.parametrize("limited", [False, True])
def test_idle_connections_do_not_block_new_ones(tmp_path, limited):
    """More than the server's limit, and more than its file descriptors."""
    more = {"preexec_fn": few_descriptors} if limited else {}
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2000:
        pytest.skip("too few file descriptors here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2000), hard))
    with Server(tmp_path / "desk", **more) as server, contextlib.ExitStack() as held:
        for _ in range(1010):
            held.enter_context(connected(server))
        for _ in range(5):
            assert server.get("/healthz")["status"] == "ok"
        held.close()
        code, said = server.end()
    assert code == 0
    assert "Traceback" not in said
    assert len(said) < 2000
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_connections_of_one_address_are_limited(tmp_path):
    with Server(tmp_path / "desk") as server, contextlib.ExitStack() as held:
        other = held.enter_context(connected(server, "127.0.0.2"))
        first = held.enter_context(connected(server))
        for _ in range(150):
            held.enter_context(connected(server))
        assert closed(first, 5)
        assert not closed(other, 0.5)
        process = psutil.Process(server.process.pid)
        there = [one for one in process.net_connections("tcp") if one.status == "ESTABLISHED"]
        assert sum(one.raddr.ip == "127.0.0.1" for one in there) <= 100


def closed(connection, seconds):
    """Return whether the server closes a connection without traffic."""
    connection.settimeout(seconds)
    try:
        return connection.recv(1000) == b""
    except TimeoutError:
        return False
    except ConnectionResetError:
        return True


def test_errors_of_the_event_loop_are_logged_once_a_minute(caplog):
    async def fail():
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(log_once)
        for _ in range(1000):
            loop.call_soon(lambda: 1 / 0)
        await asyncio.sleep(0.1)

    asyncio.run(fail())
    assert len(caplog.records) == 1
    assert "ZeroDivisionError" in caplog.text
    assert "Traceback" not in caplog.text


def test_connections_leave_file_descriptors_for_the_store():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        assert max_connections() == 128
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"GET / HTTP/1.1\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET ",  # the second request of a connection
    ],
)
def test_endless_request_head_times_out(hasty, start):
    with connected(hasty) as connection:
        connection.sendall(start)
        assert ended(connection)


def test_endless_body_times_out(hasty):
    with connected(hasty) as connection:
        head = b"POST /api/undo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"
        connection.sendall(head)
        assert ended(connection)


def ended(connection, seconds=30):
    """Return whether the server closes a connection that sends one byte ten times a second."""
    end = time.monotonic() + seconds
    connection.settimeout(0.1)
    while time.monotonic() < end:
        with contextlib.suppress(TimeoutError):
            try:
                if not connection.recv(65536):
                    return True
                connection.sendall(b"x")
            except (ConnectionResetError, BrokenPipeError):
                return True
            except TimeoutError:
                with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                    connection.sendall(b"x")
    return False


def test_idle_connection_is_closed(tmp_path):
    """The timeout is 30 seconds, here one second."""
    hurried = (
        "import uvicorn; made = uvicorn.Config; uvicorn.Config = lambda *given, timeout_keep_alive, **named: "
    )
    hurried += "made(*given, timeout_keep_alive=timeout_keep_alive / 30, **named); " + MAIN
    with Server(tmp_path / "desk", main=hurried) as server, connected(server) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = b""
        while not answer.endswith(b"}"):
            answer += connection.recv(65536)
        assert closed(connection, 9)  # less than the timeout of a request head


def test_client_that_does_not_read_times_out(hasty):
    process = psutil.Process(hasty.process.pid)
    with connected(hasty) as connection:
        here = connection.getsockname()
        with contextlib.suppress(OSError):
            connection.settimeout(2)
            for _ in range(300):
                connection.sendall(b"GET /api/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for _ in range(600):
            held = {one.raddr for one in process.net_connections("tcp") if one.status == "ESTABLISHED"}
            if here not in held:
                return
            time.sleep(0.05)
    raise AssertionError("the connection is still there")


def refused(rates, senders):
    """Return how many requests of some senders are refused."""
    n = 0
    for sender in senders:
        try:
            rates.take(sender)
        except TooManyRequests:
            n += 1
    return n


def test_flood_from_many_addresses_is_bounded_in_memory_and_keeps_known_limits():
    rates = RateLimiter(clock=lambda: 100.0)
    assert refused(rates, ["198.51.100.7"] * 700) == 100
    assert refused(rates, (f"address {i}" for i in range(20_000))) > 9_000
    assert len(rates) <= 10_001
    assert refused(rates, ["198.51.100.7"]) == 1  # known senders keep their limit
    assert refused(rates, ["address 1"]) == 0


def test_rate_limits_recover():
    now = [100.0]
    rates = RateLimiter(clock=lambda: now[0])
    for i in range(10_000):
        rates.take(f"address {i}")
    now[0] += 60
    rates.take("new")
    assert len(rates) == 1


class SlowModel:
    """A model whose first pass waits for an event."""

    def __init__(self):
        self.go, self.began, self.position, self.passes = threading.Event(), threading.Event(), 0, []

    def refresh(self):
        pass

    def outputs(self, contents):
        self.passes.append([len(str(content)) for content in contents])
        self.began.set()
        assert self.go.wait(60)
        n = len(contents)
        return SimpleNamespace(names=[], probabilities=np.zeros((n, 0)), sets=sp.csr_array((n, 0)))


@pytest.fixture
def slow(tmp_path):
    desk, model = TaggingServer(tmp_path / "desk"), SlowModel()
    desk.predictor.published = Published(None, 0, "none", model)
    yield desk.predictor, model
    model.go.set()
    desk.close()


def asked(predictor, who, rows, bounded=True):
    asker.set(who)
    return predictor.suggest(rows, 10, 0.0, bounded)


BIG = [{"text": "x" * 1500}] * 1000


def test_large_requests_do_not_delay_other_users(slow):
    predictor, model = slow
    order = []
    large = [asked(predictor, "Ada", BIG) for _ in range(4)]
    assert model.began.wait(60)
    small = asked(predictor, "Bob", [{"text": "shark"}])
    also_large = asked(predictor, "Bob", BIG)
    for name, one in [*(("Ada", one) for one in large), ("Bob", small), ("Bob's large", also_large)]:
        one.add_done_callback(lambda _, name=name: order.append(name))
    model.go.set()
    assert [len(one.result(60).results) for one in large] == [1000] * 4
    assert len(also_large.result(60).results) == 1000
    assert order[0] == "Bob"  # before any of Ada's, in the next pass
    assert order.index("Bob's large") < order.index("Ada") + 3  # users take turns
    assert max(len(one) for one in model.passes) <= 64
    assert max(sum(one) for one in model.passes) < 300_000


def test_results_are_in_order_and_empty_requests_are_answered(slow):
    predictor, model = slow
    model.go.set()
    assert asked(predictor, "Ada", []).result(60).results == []
    assert len(asked(predictor, "Ada", [{"text": "x" * 1_000_000}, "y"]).result(60).results) == 2


def test_size_of_a_request_and_of_a_users_requests_is_limited(slow):
    predictor, model = slow
    with pytest.raises(TooLarge, match=r"2,000,202 characters .* send them in parts"):
        asked(predictor, "Ada", [{"text": "x" * (MAX_TEXT + 2)}])
    asked(predictor, "Ada", ["warm"])
    assert model.began.wait(60)
    for _ in range(4):
        asked(predictor, "Ada", BIG)
    with pytest.raises(TooManyRequests, match=r"You have [45] waiting requests"):
        asked(predictor, "Ada", BIG)
    assert asked(predictor, "Bob", BIG) is not None


def test_canceled_requests_are_skipped(slow):
    predictor, model = slow
    first = asked(predictor, "Ada", ["warm"])
    assert model.began.wait(60)
    removed = asked(predictor, "Ada", BIG)
    removed.cancel()
    model.go.set()
    assert len(first.result(60).results) == 1
    assert len(asked(predictor, "Ada", ["last"]).result(60).results) == 1
    assert sum(map(len, model.passes)) == 2
