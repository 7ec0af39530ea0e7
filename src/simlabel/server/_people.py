"""Who may do what: tokens for programs and people, sessions for the page. Secrets are stored as hashes."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import sqlite3
from dataclasses import dataclass, replace

from simlabel.server._changes import checked_name
from simlabel.server._journal import By, known
from simlabel.server._kinds import ROLES, Role
from simlabel.server._problems import Conflict, DeskError, Unknown
from simlabel.server._store import DeskStore

SESSION_SECONDS = 12 * 3600
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Person:
    """Who asks, what they may do, and for a session the secret that no other site knows."""

    name: str
    role: Role
    csrf: str | None = None

    def may(self, role: str) -> bool:
        """Whether this person's role includes another."""
        return ROLES.index(self.role) >= ROLES.index(role)


LOCAL = Person("local", ROLES[-1])  # who asks where there are no tokens


def hashed(secret: str) -> str:
    """What is stored of a secret; secrets are 256 random bits, so one round is enough."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def new_token(by: By, name: str, role: str) -> tuple[int, str]:
    """Make a token; its number, and the secret, which is never to be had again."""
    name = checked_name(name, "name")
    if role not in ROLES:
        raise DeskError(f"A role is one of {', '.join(ROLES)}, not {role!r}.")
    if name == LOCAL.name or by.one("SELECT 1 FROM tokens WHERE name = ? AND NOT revoked", name):
        raise DeskError(f"There is a token for {name!r} already; revoke it first, or choose another name.")
    number = by.new_number("tokens")
    secret = f"sl_{number}_{secrets.token_urlsafe(32)}"
    fields = {"name": name, "role": role, "hash": hashed(secret), "revoked": 0}
    by.append("token", [("token", number, None, fields)])
    return number, secret


def revoke_token(by: By, number: int, exposed: bool) -> int:
    """End a token and the sessions that were opened with it.

    Where the server is `exposed`, the last token for administration stays: without it, nobody could let
    anybody in.
    """
    role = known(by, "token", number)["role"]
    others = "SELECT 1 FROM tokens WHERE role = ? AND NOT revoked AND id <> ?"
    if exposed and role == ROLES[-1] and not by.one(others, role, number):
        raise Conflict(
            f"Token {number} is the last one for {role}, and this server can be reached from elsewhere: "
            f"make another one first, or start the server on 127.0.0.1."
        )
    by.db.execute("DELETE FROM sessions WHERE token = ?", (number,))
    return by.append("token", [("token", number, {"revoked": 0}, {"revoked": 1})])


class People:
    """Finds out who sends a request.

    Attributes
    ----------
    exposed : bool
        Whether others than this machine can reach the server: then nobody is let in without a token.
    """

    def __init__(self, store: DeskStore) -> None:
        self._store, self.exposed = store, False

    @property
    def needed(self) -> bool:
        """Whether tokens are: from the first one that is made, and always where the server is exposed."""
        return self.exposed or self.any

    @property
    def any(self) -> bool:
        """Whether there is a token that was not revoked."""
        return self._store.remembered(_any_token)

    def by_token(self, secret: str) -> Person:
        """The person whose token this is."""
        query = "SELECT name, role, hash FROM tokens WHERE id = ? AND NOT revoked"
        for row in self._store.rows(query, _number(secret)):
            if hmac.compare_digest(hashed(secret), row["hash"]):
                return Person(row["name"], row["role"])
        raise Unknown("This token is not known here, or was revoked. Ask who runs the desk for another.")

    def open_session(self, secret: str | None) -> tuple[str, Person]:
        """Make a session for a token, or for whoever sits at this machine; its cookie."""
        person = LOCAL if secret is None else self.by_token(secret)
        token = None if secret is None else _number(secret)
        cookie, csrf, now = secrets.token_urlsafe(32), secrets.token_urlsafe(24), self._store.clock()
        self._store.execute("DELETE FROM sessions WHERE until < ?", now)
        values = hashed(cookie), token, csrf, now + SESSION_SECONDS
        self._store.execute("INSERT INTO sessions VALUES (?, ?, ?, ?)", *values)
        return cookie, replace(person, csrf=csrf)

    def by_session(self, cookie: str) -> Person:
        """The person whose session this is."""
        query = "SELECT s.token, s.csrf, t.name, t.role FROM sessions s LEFT JOIN tokens t ON t.id = s.token "
        query += "WHERE s.hash = ? AND s.until > ? AND coalesce(t.revoked, 0) = 0"
        for token, csrf, name, role in self._store.rows(query, hashed(cookie), self._store.clock()):
            if token is not None:
                return Person(name, role, csrf)
            if not self.needed:
                return replace(LOCAL, csrf=csrf)
        raise Unknown("The session has ended; sign in again.")

    def close_session(self, cookie: str) -> None:
        """End a session."""
        self._store.execute("DELETE FROM sessions WHERE hash = ?", hashed(cookie))


def _any_token(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT 1 FROM tokens WHERE NOT revoked LIMIT 1").fetchone() is not None


def _number(secret: str) -> int:
    """The number that a token carries; 0, which none has, where it carries none."""
    number = secret.partition("_")[2].partition("_")[0]
    return int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0
