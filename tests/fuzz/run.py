"""Run fuzz campaigns: many drawn cases in forked children, none of which may crash, hang or surprise.

A campaign is a module of this folder with ``SECONDS``, how long a case may take, ``warm()``, which makes
what all cases share, and ``case(material, seed)``, which returns when all is well and raises otherwise.

``warm`` runs once, before the forks, and may leave no thread running. What a fork does not survive, such as
a server, belongs in the optional ``opened(material)``: a context manager that is entered in each child before
its first case and yields the material of the cases of this child. A child runs cases for about 10 seconds;
when it ends, processes that it left in its session are killed.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import importlib
import json
import os
import re
import resource
import select
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

FOLDER = Path(__file__).resolve().parent
FOUND = FOLDER / "found.txt"
BATCH_SECONDS = 10.0  # then it is the turn of the next campaign
MEMORY = 3 << 30  # bytes of address space that a child may take beyond what the warmed parent has
SHOWN = 12  # lines of a traceback that are shown


def campaign_names() -> list[str]:
    """The campaigns that there are: all modules but this one and those that pytest or another one reads."""
    names = [path.stem for path in sorted(FOLDER.glob("*.py"))]
    return [name for name in names if name != "run" and not name.startswith(("_", "test_"))]


@dataclass
class Campaign:
    """A campaign, what it was warmed to, and how far it has come."""

    name: str
    seconds: float
    case: Any
    material: Any
    opened: Callable[[Any], contextlib.AbstractContextManager[Any]]
    first: int
    next: int
    spent: float = 0.0
    findings: dict[str, list[int]] = field(default_factory=dict)  # by kind, the seeds

    @classmethod
    def warmed(cls, name: str, seed: int) -> Campaign:
        """Import a campaign and make its material."""
        module = importlib.import_module(name)
        opened = getattr(module, "opened", contextlib.nullcontext)
        return cls(name, module.SECONDS, module.case, module.warm(), opened, seed, seed)

    def run(self, material: Any, seed: int) -> None:
        """One case, in an empty folder of its own, so that none depends on what another left."""
        with _scratch():
            self.case(material, seed)

    @property
    def closing(self) -> str:
        """What came of it, in one line."""
        found = sum(map(len, self.findings.values()))
        counts = f"{self.next - self.first} cases, {found} findings of {len(self.findings)} kinds"
        return f"{self.name}: {counts}, {self.spent:.0f} s, seeds {self.first} to {self.next - 1}"


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; 1 where there was a finding."""
    options = _options(arguments)
    # a pool of threads does not survive a fork
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    sys.path[:0] = [str(FOLDER), str(FOLDER.parent), str(FOLDER.parent / "server")]
    chosen = campaign_names()
    if options.campaign is not None:
        if options.campaign not in chosen:
            sys.exit(f"There is no campaign {options.campaign!r}; there are {', '.join(chosen)}.")
        chosen = [options.campaign]
    with _scratch():
        if options.case is not None:
            campaign = Campaign.warmed(chosen[0], options.case)
            with campaign.opened(campaign.material) as material:
                campaign.run(material, options.case)
            print(f"{campaign.name}, seed {options.case}: all is well")
            return 0
        campaigns = [Campaign.warmed(name, options.seed) for name in chosen]
        return _run(campaigns, options)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0, help="how long, all campaigns together")
    parser.add_argument("--cases", type=int, default=sys.maxsize, help="at most so many of each campaign")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first case; the next is one more")
    parser.add_argument("--campaign", help="this one alone")
    parser.add_argument("--case", type=int, help="run this one seed of the campaign here, without limits")
    parser.add_argument("--patience", type=float, default=2.0, help="times the seconds that a case may take")
    options = parser.parse_args(arguments)
    if options.case is not None and options.campaign is None:
        parser.error("--case needs --campaign")
    return options


@contextlib.contextmanager
def _scratch() -> Iterator[None]:
    """Work in a folder of its own, where temporary files go too, and leave nothing behind."""
    before, kept = Path.cwd(), tempfile.tempdir
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        tempfile.tempdir = folder
        try:
            yield
        finally:
            os.chdir(before)
            tempfile.tempdir = kept


def _run(campaigns: list[Campaign], options: argparse.Namespace) -> int:
    for thread in threading.enumerate():
        if thread is not threading.main_thread():
            thread.join(10.0)  # told to stop, such as that of a progress bar, it may still be on its way
    if threading.active_count() != 1:
        sys.exit(f"A warmed campaign left threads running, which no fork survives: {threading.enumerate()}.")
    end = time.monotonic() + 60 * options.minutes
    message = time.monotonic()
    running = list(campaigns)
    while running and time.monotonic() < end:
        for campaign in running:
            started = time.monotonic()
            _batch(campaign, min(end, started + BATCH_SECONDS), options)
            campaign.spent += time.monotonic() - started
        running = [one for one in running if one.next - one.first < options.cases]
        if time.monotonic() - message > 60:
            message = time.monotonic()
            print(f"... {(end - message) / 60:.0f} minutes left: " + "; ".join(c.closing for c in campaigns))
    for campaign in campaigns:
        print(campaign.closing)
        for kind, seeds in campaign.findings.items():
            print(f"    {len(seeds)} times, first with seed {seeds[0]}: {kind}")
    return int(any(campaign.findings for campaign in campaigns))


def _batch(campaign: Campaign, until: float, options: argparse.Namespace) -> None:
    """Cases in one child until the time is up, the cases are, or the child is."""
    folder = Path(tempfile.mkdtemp())
    last = min(sys.maxsize, campaign.first + options.cases)
    with (folder / "log").open("w+", errors="replace") as log:
        reading, writing = os.pipe()
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            os.close(reading)
            _child(campaign, until, last, folder, log, writing)
        os.close(writing)
        load = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
        limit = campaign.seconds * options.patience * load
        hung = _listen(campaign, child, reading, limit)
        os.close(reading)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # what the cases may have left running
        log.seek(0)
        if hung:
            _report(campaign, campaign.next, f"no answer within {limit:.0f} s", log.read())
        elif status < 0:
            _report(campaign, campaign.next, f"ended by {signal.Signals(-status).name}", log.read())
        elif status > 0:
            _report(campaign, campaign.next, f"the process was left with code {status}", log.read())
        if hung or status:
            campaign.next += 1
    shutil.rmtree(folder, ignore_errors=True)


def _child(
    campaign: Campaign, until: float, last: int, folder: Path, log: TextIO, writing: int
) -> None:  # pragma: no cover
    """Run cases and tell the parent of each; never returns."""
    code = 3
    try:
        os.setsid()
        os.chdir(folder)
        tempfile.tempdir = str(folder)
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        faulthandler.enable(log)
        limit = _address_space() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        with campaign.opened(campaign.material) as material:
            _cases(campaign, material, until, last, writing)
        code = 0
    except BaseException:
        traceback.print_exc(file=log)
        log.flush()
    finally:
        os._exit(code)


def _cases(
    campaign: Campaign, material: Any, until: float, last: int, writing: int
) -> None:  # pragma: no cover
    """Run one case, and more until the time is up or there are no more; report each to the parent."""
    seed = campaign.next
    while seed == campaign.next or (seed < last and time.monotonic() < until):
        trace = None
        try:
            campaign.run(material, seed)
        except BaseException:
            trace = traceback.format_exc()
        os.write(writing, json.dumps([seed, trace]).encode() + b"\n")
        seed += 1


def _address_space() -> int:
    """Bytes of address space that this process has, or a guess where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:
        return 8 << 30


def _listen(campaign: Campaign, child: int, reading: int, limit: float) -> bool:
    """Take down what the child tells of its cases, until it ends; whether one hung, and was ended."""
    rest = b""
    while True:
        ready, _, _ = select.select([reading], [], [], limit)
        if not ready:
            os.kill(child, signal.SIGABRT)  # faulthandler writes where it was
            time.sleep(1.0)
            os.kill(child, signal.SIGKILL)  # it is not waited for yet, so the number is still its own
            return True
        data = os.read(reading, 1 << 16)
        if not data:
            return False
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            seed, trace = json.loads(line)
            if trace is not None:
                _report(campaign, seed, trace.strip().rpartition("\n")[2], trace)
            campaign.next = seed + 1


def _report(campaign: Campaign, seed: int, what: str, trace: str) -> None:
    """Print a finding, the trace of each kind once, and write it down."""
    crashed = "most recent call first" in trace  # the words of faulthandler
    frames = re.findall(r'File "[^"]*?((?:src/simlabel|tests)/[^"]*)", line (\d+)', trace)
    innermost = frames[0 if crashed else -1] if frames else ("", "")
    words = re.sub(r"'[^']*'|[0-9.]+", "#", what)[:100]
    kind = f"{':'.join(innermost)} {words}".strip()
    seeds = campaign.findings.setdefault(kind, [])
    seeds.append(seed)
    line = f"{campaign.name}, seed {seed}: {what[:500]}"
    with FOUND.open("a") as found:
        found.write(f"{line} [{kind}]\n")
    if len(seeds) == 1:
        lines = trace.strip().splitlines()
        shown = lines[:SHOWN] if crashed else lines[-SHOWN:]
        print("\n".join([line, *("    " + text[:300] for text in shown)]), flush=True)


if __name__ == "__main__":
    sys.exit(main())
