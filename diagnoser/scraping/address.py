"""Addresses on the command line: which host is asked for what, and what may be shown of it."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from urllib.parse import parse_qsl, unquote, urlsplit

from diagnoser.scraping.queries import Asking, conditions
from diagnoser.sources import InputError
from diagnoser.timefilter import Bound, parse_bound
from diagnoser.values import dataclass, field, replace

#: Schemes of endpoints that serve a metrics page, and of Prometheus servers (``proms`` with TLS).
_PORTS = {"http": 80, "https": 443, "prom": 9090, "proms": 443}
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_HOST = re.compile(r"[A-Za-z0-9._~-]+|[0-9A-Fa-f:.]+(?:%[\w.-]+)?")
#: Everything before the last @: a password that was not quoted may hold any sign.
_SECRET = re.compile(r"//.*@", re.DOTALL)


@dataclass(slots=True, frozen=True)
class Address:
    """One address. ``name`` is what reports show: never a user or a password. ``server`` is host:port.

    ``target`` is path and query as they are asked for; for a Prometheus server the path before ``/api``. ``asking`` is
    None for a metrics endpoint.
    """

    name: str
    tls: bool
    host: str
    port: int
    target: str
    authorization: str = field(default="", repr=False)
    asking: Asking | None = None

    @property
    def server(self) -> str:
        """Host and port: the name of a server that names itself in no label."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme, host and port: what a redirect must not leave."""
        return f"{'https' if self.tls else 'http'}://{self.server}"


def is_address(name: str) -> bool:
    """Whether a name on the command line is an address and no file."""
    return _SCHEME.match(name) is not None


def parse_address(text: str) -> Address:
    """Read an address. Raises InputError that says what was expected; it never quotes a password."""
    shown = _SECRET.sub("//***@", text)
    scheme = text.partition("://")[0].lower()
    if scheme not in _PORTS:
        begin = "addresses begin with http://, https://, prom:// or proms://; shared storage: s3://, gs:// and others"
        raise InputError(f"cannot read {shown}: {begin}")
    if any(not char.isprintable() for char in text):
        raise InputError(f"cannot read {shown!r}: an address has no control characters")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port or _PORTS[scheme]
    except ValueError as error:
        raise InputError(f"cannot read {shown}: {_unquoted(str(error), text)}") from None
    if not _HOST.fullmatch(host):
        raise InputError(f"cannot read {shown}: expected {scheme}://HOST:PORT")
    netloc = parts.netloc.rpartition("@")[2]
    secret = _basic(parts.username, parts.password)
    if scheme.startswith("prom"):
        path = parts.path.rstrip("/")
        asking = _asking(parts.query, shown)
        return Address(f"{scheme}://{netloc}{path}", scheme == "proms", host, port, path, secret, asking)
    target = "/metrics" if parts.path in ("", "/") else parts.path
    target += f"?{parts.query}" if parts.query else ""
    return Address(f"{scheme}://{netloc}{target}", scheme == "https", host, port, target, secret)


def apart(addresses: Sequence[Address]) -> list[Address]:
    """Give addresses of one Prometheus server, asked for different series, names of their own."""
    names = [one.name for one in addresses]
    out = []
    for one in addresses:
        words = [f"match={{{match}}}" for match in one.asking.matches] if one.asking is not None else []
        alone = names.count(one.name) == 1 or not words
        out.append(one if alone else replace(one, name=f"{one.name}?{'&'.join(words)}"))
    return out


def _basic(user: str | None, password: str | None) -> str:
    if user is None and password is None:
        return ""
    text = f"{unquote(user or '')}:{unquote(password or '')}"
    return "Basic " + b64encode(text.encode()).decode()


def _unquoted(message: str, text: str) -> str:
    """Python quotes the part that it could not read, which may hold a password."""
    return "its host or port cannot be read" if "@" in text else message


def _asking(query: str, shown: str) -> Asking:
    """Read what a Prometheus server is asked for: match (may be repeated), since, until, step."""
    # A plus sign is a plus sign: selectors are full of them (".+"), and blanks are written as they are.
    pairs = parse_qsl(query.replace("+", "%2B"), keep_blank_values=True)
    matches: list[str] = []
    times: dict[str, str] = {}
    for name, value in pairs:
        if name in ("match", "match[]"):
            try:
                matches.append(conditions(value))
            except ValueError as error:
                raise InputError(f"cannot read {shown}: {error}") from None
        elif name in ("since", "until", "step"):
            times[name] = value
        else:
            raise InputError(f"cannot read {shown}: there is no {name}=; there are match=, since=, until= and step=")
    since, until, step = (_bound(name, times.get(name), shown) for name in ("since", "until", "step"))
    if step is not None and not step.back:
        raise InputError(f"cannot read {shown}: step={times['step']}: expected a length such as 15s")
    return Asking(tuple(matches), since or Bound(back=3600.0), until, step.back if step else None)


def _bound(name: str, text: str | None, shown: str) -> Bound | None:
    try:
        return parse_bound(text) if text else None
    except ValueError:
        told = f"{name}={text}: expected such as 15m, 10:00, 07-12 10:00:03 or 2026-11-29 10:00 (UTC)"
        raise InputError(f"cannot read {shown}: {told}") from None
