"""Who may do what: tokens for programs and people, sessions for the page. Secrets are stored as hashes."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import sqlite3
from dataclasses import dataclass

from simlabel.desk._changes import Who, checked_name
from simlabel.desk._journal import append, current
from simlabel.desk._problems import DeskError, NotFound, Unknown
from simlabel.desk._store import DeskStore

ROLES = ("reading", "tagging", "administration")  # each may do what those before it may
LOCAL = "local"  # who asks where there are no tokens
SESSION_SECONDS = 12 * 3600.0


@dataclass(frozen=True)
class Person:
    """Who asks, what they may do, and for a session the secret that no other site knows."""

    name: str
    role: str
    csrf: str | None = None

    def may(self, role: str) -> bool:
        """Whether this person's role includes another."""
        return ROLES.index(self.role) >= ROLES.index(role)


def hashed(secret: str) -> str:
    """What is stored of a secret; secrets are 256 random bits, so one round is enough."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def new_token(db: sqlite3.Connection, who: Who, name: str, role: str) -> tuple[int, str]:
    """Make a token; its number, and the secret, which is never to be had again."""
    name = checked_name(name, "name")
    if role not in ROLES:
        raise DeskError(f"A role is one of {', '.join(ROLES)}, not {role!r}.")
    if name == LOCAL or db.execute("SELECT 1 FROM tokens WHERE name = ? AND NOT revoked", (name,)).fetchone():
        raise DeskError(f"There is a token for {name!r} already; revoke it first, or choose another name.")
    (number,) = db.execute("SELECT coalesce(max(id), 0) + 1 FROM tokens").fetchone()
    secret = f"sl_{number}_{secrets.token_urlsafe(32)}"
    fields = {"name": name, "role": role, "hash": hashed(secret), "revoked": 0}
    append(db, who.at, who.actor, "token", [("token", number, None, fields)])
    return int(number), secret


def revoke_token(db: sqlite3.Connection, who: Who, number: int) -> int:
    """End a token and the sessions that were opened with it."""
    before = current(db, "token", number)
    if before is None or before["revoked"]:
        raise NotFound(f"There is no token {number}.")
    db.execute("DELETE FROM sessions WHERE token = ?", (number,))
    return append(db, who.at, who.actor, "token", [("token", number, {"revoked": 0}, {"revoked": 1})])


class People:
    """Tells who asks."""

    def __init__(self, store: DeskStore) -> None:
        self._store = store

    @property
    def needed(self) -> bool:
        """Whether tokens are: from the first one that is made."""
        return bool(self._store.rows("SELECT 1 FROM tokens WHERE NOT revoked LIMIT 1"))

    def by_token(self, secret: str) -> Person:
        """The person whose token this is."""
        number, row = _number(secret), None
        if number is not None:
            found = self._store.rows(
                "SELECT name, role, hash FROM tokens WHERE id = ? AND NOT revoked", (number,)
            )
            row = found[0] if found else None
        known = row["hash"] if row else "0" * 64
        if not hmac.compare_digest(hashed(secret), known) or row is None:
            raise Unknown("This token is not known here, or was revoked. Ask who runs the desk for another.")
        return Person(row["name"], row["role"])

    def open_session(self, secret: str | None) -> tuple[str, Person]:
        """Make a session for a token, or for whoever sits at this machine; its cookie."""
        person = self.by_token(secret) if secret is not None else Person(LOCAL, ROLES[-1])
        cookie, csrf, until = (
            secrets.token_urlsafe(32),
            secrets.token_urlsafe(24),
            self._store.clock() + SESSION_SECONDS,
        )
        token = None if secret is None else _number(secret)

        def work(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM sessions WHERE until < ?", (self._store.clock(),))
            db.execute("INSERT INTO sessions VALUES (?, ?, ?, ?)", (hashed(cookie), token, csrf, until))

        self._store.wrote(work)
        return cookie, Person(person.name, person.role, csrf)

    def by_session(self, cookie: str) -> Person:
        """The person whose session this is."""
        found = self._store.rows(
            "SELECT s.csrf, s.token, t.name, t.role FROM sessions s LEFT JOIN tokens t ON t.id = s.token "
            "WHERE s.hash = ? AND s.until > ? AND coalesce(t.revoked, 0) = 0",
            (hashed(cookie), self._store.clock()),
        )
        if not found or (found[0]["token"] is None and self.needed):
            raise Unknown("The session has ended; sign in again.")
        row = found[0]
        if row["token"] is None:
            return Person(LOCAL, ROLES[-1], row["csrf"])
        return Person(row["name"], row["role"], row["csrf"])

    def close_session(self, cookie: str) -> None:
        """End a session."""
        self._store.wrote(
            lambda db: db.execute("DELETE FROM sessions WHERE hash = ?", (hashed(cookie),)).rowcount
        )


def _number(secret: str) -> int | None:
    _, _, rest = secret.partition("_")
    number = rest.partition("_")[0]
    return int(number) if number.isascii() and number.isdigit() and len(number) < 10 else None
