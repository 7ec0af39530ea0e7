"""Tokens for programs and users, and sessions for the web page. Secrets are stored as hashes."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import sqlite3
from dataclasses import dataclass, replace
from ipaddress import ip_address

from simlabel.server._changes import checked_name
from simlabel.server._journal import ChangeContext, known
from simlabel.server._store import ServerStore
from simlabel.server._types import ROLES, Conflict, Role, ServerError, Unauthenticated

SESSION_SECONDS = 12 * 3600
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def is_loopback(host: str) -> bool:
    """Return whether an address is the loopback address of this machine."""
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


@dataclass(frozen=True)
class User:
    """A user with a role, and the CSRF secret if the request belongs to a session."""

    name: str
    role: Role
    csrf: str | None = None

    def may(self, role: str) -> bool:
        """Return whether the user's role includes another role."""
        return ROLES.index(self.role) >= ROLES.index(role)


LOCAL = User("local", ROLES[-1])  # the sender of requests while there are no tokens


def hashed(secret: str) -> str:
    """Return the stored hash of a secret. One round is enough, because secrets are 256 random bits."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def add_token(by: ChangeContext, name: str, role: str) -> tuple[int, str]:
    """Create a token; return its id and its secret, which cannot be read again later."""
    name = checked_name(name, "name")
    if role not in ROLES:
        raise ServerError(f"There is no role {role!r}: use one of {', '.join(ROLES)}.")
    if name == LOCAL.name or by.one("SELECT 1 FROM tokens WHERE name = ? AND NOT revoked", name):
        raise ServerError(f"There is already a token for {name!r}: revoke it first, or choose another name.")
    number = by.new_number("tokens")
    secret = f"sl_{number}_{secrets.token_urlsafe(32)}"
    fields = {"name": name, "role": role, "hash": hashed(secret), "revoked": 0}
    by.append("token", [("token", number, None, fields)])
    return number, secret


def revoke_token(by: ChangeContext, number: int, exposed: bool) -> int:
    """Revoke a token and end the sessions that were opened with it.

    The last administration token of an `exposed` server cannot be revoked: nobody could create new ones.
    """
    role = known(by, "token", number)["role"]
    others = "SELECT 1 FROM tokens WHERE role = ? AND NOT revoked AND id <> ?"
    if exposed and role == ROLES[-1] and not by.one(others, role, number):
        raise Conflict(
            f"Token {number} is the last one for {role}, and other machines can reach this server: "
            f"create another one first, or start the server on 127.0.0.1."
        )
    by.db.execute("DELETE FROM sessions WHERE token = ?", (number,))
    return by.append("token", [("token", number, {"revoked": 0}, {"revoked": 1})])


class UserStore:
    """The users of a server: authentication by tokens and sessions.

    Attributes
    ----------
    exposed : bool
        Whether other machines can reach the server; if so, every request needs a token.
    """

    def __init__(self, store: ServerStore) -> None:
        self._store, self.exposed = store, False

    @property
    def needed(self) -> bool:
        """Whether requests need a token: always if the server is exposed, else once a token exists."""
        return self.exposed or self.any

    @property
    def any(self) -> bool:
        """Whether there is a token that is not revoked."""
        return self._store.cached_query(_any_token)

    def by_token(self, secret: str) -> User:
        """Return the user of a token."""
        query = "SELECT name, role, hash FROM tokens WHERE id = ? AND NOT revoked"
        for row in self._store.rows(query, _number(secret)):
            if hmac.compare_digest(hashed(secret), row["hash"]):
                return User(row["name"], row["role"])
        raise Unauthenticated(
            "This token is unknown or was revoked: request another one from the administrator."
        )

    def open_session(self, secret: str | None) -> tuple[str, User]:
        """Create a session for a token, or for the local user; return its cookie and the user."""
        user = LOCAL if secret is None else self.by_token(secret)
        token = None if secret is None else _number(secret)
        cookie, csrf, now = secrets.token_urlsafe(32), secrets.token_urlsafe(24), self._store.clock()
        self._store.execute("DELETE FROM sessions WHERE until < ?", now)
        values = hashed(cookie), token, csrf, now + SESSION_SECONDS
        self._store.execute("INSERT INTO sessions VALUES (?, ?, ?, ?)", *values)
        return cookie, replace(user, csrf=csrf)

    def by_session(self, cookie: str) -> User:
        """Return the user of a session."""
        query = (
            "SELECT s.token, s.csrf, t.name, t.role FROM sessions s LEFT JOIN tokens t ON t.id = s.token "
            "WHERE s.hash = ? AND s.until > ? AND coalesce(t.revoked, 0) = 0"
        )
        for token, csrf, name, role in self._store.rows(query, hashed(cookie), self._store.clock()):
            if token is not None:
                return User(name, role, csrf)
            if not self.needed:
                return replace(LOCAL, csrf=csrf)
        raise Unauthenticated("The session has ended: sign in again.")

    def close_session(self, cookie: str) -> None:
        """End a session."""
        self._store.execute("DELETE FROM sessions WHERE hash = ?", hashed(cookie))


def _any_token(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT 1 FROM tokens WHERE NOT revoked LIMIT 1").fetchone() is not None


def _number(secret: str) -> int:
    """Return the id in the text of a token, or 0, which no token has, if there is none."""
    number = secret.partition("_")[2].partition("_")[0]
    return int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0
