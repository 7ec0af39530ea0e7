"""Progress on a terminal, in a pipe, and with a listener."""

from __future__ import annotations

import contextlib
import io
import re

import pytest

from simlabel._utils.progress import progress, progress_bar, report_progress_to


class Clock:
    """Stands in for the clock: a second passes with every look at it."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1.0
        return self.now


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr("time.monotonic", Clock())


def lines(capsys):
    return capsys.readouterr().err.splitlines()


def test_into_a_pipe_a_line_comes_every_ten_seconds(clock, capsys):
    with progress("waiting", 30, show=True) as advance:
        for _ in range(30):
            advance()
    assert lines(capsys) == [
        "waiting",
        "waiting: 33%, about 20 s left",  # a second for a step
        "waiting: 67%, about 10 s left",
        "waiting: 99%, about 0 s left",
    ]


def test_quick_work_that_is_not_announced_prints_nothing(capsys):
    with progress_bar("waiting", announced=False) as tell:
        for done in range(30):
            tell(done, 30, "waiting")
    assert lines(capsys) == []


def test_work_whose_title_changes_with_every_step_is_one_work(clock, capsys):
    with progress_bar("comparing", announced=False) as tell:
        for done in range(25):
            tell(done, 100, f"fold {done}")
    assert lines(capsys) == ["fold 10: 10%, about 90 s left", "fold 20: 20%, about 80 s left"]


def test_without_show_nothing_is_printed(clock, capsys):
    with progress("waiting", 30, show=False) as advance:
        for _ in range(30):
            advance()
    assert lines(capsys) == []


def test_control_characters_are_shown_and_not_sent(capsys):
    with progress("red \x1b[31m", 3, show=True):
        pass
    assert lines(capsys) == ["red \\x1b[31m"]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_is_never_full_before_the_end(monkeypatch):
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    with contextlib.redirect_stderr(terminal), progress("waiting", 3, show=True) as advance:
        for _ in range(3):
            advance()
    seen = re.findall(r"(\d+)/3", terminal.getvalue())
    assert seen
    assert "3" not in seen


def test_several_steps_at_once_count_as_many():
    messages = []
    with (
        report_progress_to(lambda done, total, what: messages.append((done, total))),
        progress("x", 5, show=False) as advance,
    ):
        advance(3)
        advance()
    assert messages == [(0, 5), (3, 5), (4, 5)]
