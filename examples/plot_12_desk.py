"""
A desk for a team
=================

``simlabel serve`` puts a model in front of people: they tag, it learns at once, says why, and forgets on
request. People use its page; here a script uses its interface, on this machine alone.
"""

# %%
# Forty tickets with tags in a CSV file.
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

import matplotlib.pyplot as plt
import numpy as np

WORDS = {"login": "password account login locked code", "billing": "invoice card refund payment price"}
WORDS |= {"crash": "app crashes closes update freezes"}
rng = np.random.default_rng(0)
lines = ["ticket,message,tags"]
for number in range(40):
    tags = rng.choice(list(WORDS), rng.integers(1, 3), replace=False)
    message = " ".join(rng.choice(" ".join(WORDS[tag] for tag in tags).split(), 6))
    lines.append(f"T{number},the {message} again,{'|'.join(sorted(tags))}")
folder = Path(tempfile.mkdtemp())
(folder / "tickets.csv").write_text("\n".join(lines), encoding="utf-8")

# %%
# Start a desk. It is one process, one folder and one page; port 0 is any that is free.
command = [
    sys.executable,
    "-c",
    "from simlabel.cli import main; main()",
    "serve",
    str(folder / "desk"),
    "--port",
    "0",
]
command += ["--import", str(folder / "tickets.csv"), "--label-column", "tags", "--id", "ticket"]
desk = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
address = next(word for line in desk.stdout for word in line.split() if word.startswith("http")).rstrip("/")


def ask(path, body=None, method=None):
    """A call of the interface: JSON in, JSON out."""
    data = None if body is None else json.dumps(body).encode()
    request = Request(address + path, data, {"content-type": "application/json"}, method=method)
    with urlopen(request) as answer:
        return json.load(answer)


# %%
# A change is stored when it is answered; the model follows in a process of its own. Here: the import.
def wait(rows):
    """Until the model has learned so many items."""
    while True:
        with contextlib.suppress(URLError):  # it does not listen yet
            if ask("/api/status")["rows"] >= rows:
                return
        time.sleep(0.2)


wait(40)

# %%
# What would it suggest for a ticket about something that nobody has tagged yet?
ticket = {"message": "the printer stays silent again and my account is locked"}


def suggested():
    """Probabilities by label."""
    answer = ask("/api/suggest", {"rows": [ticket]})
    return {one["label"]: one["probability"] for one in answer["results"][0]}


before = suggested()
print(before)

# %%
# Somebody tags two tickets, with a label that is new. It counts as soon as the model has followed.
more = ["the printer is silent", "no page comes from the printer again"]
ask(
    "/api/items",
    {"items": [{"content": {"message": one}, "tags": ["printer"], "done": True} for one in more]},
)
wait(42)
after = suggested()
print(after)

# %%
# Which labeled tickets speak for the new label? First the ticket itself is put on the desk.
number = ask("/api/items", {"items": [{"content": ticket}]})["ids"][0]
why = ask(f"/api/items/{number}/explain?label=printer")
print([(one["title"], one["shared"]) for one in why["items"][:3]])

# %%
# The end: Ctrl-C, or a signal. All is in the folder, and ``simlabel serve`` goes on from there.
desk.terminate()
desk.communicate()

names = sorted(after)
places = np.arange(len(names))
plt.figure(figsize=(6, 3), layout="constrained")
plt.barh(places - 0.2, [before.get(name, 0.0) for name in names], 0.38, color="0.7", label="before")
plt.barh(places + 0.2, [after[name] for name in names], 0.38, color="#2a78b5", label="after two more tickets")
plt.yticks(places, names)
plt.gca().invert_yaxis()
plt.xlabel("probability for the ticket")
plt.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 0))
plt.show()
