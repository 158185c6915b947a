"""GET over HTTP: the only module that opens a connection, to the one server that an address names, within bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from diagnoser.language import Sentence
from diagnoser.values import dataclass

if TYPE_CHECKING:
    from diagnoser.scraping.address import Address

_BLOCK = 64 << 10
#: Redirects that are followed, within the same scheme, host and port only (/metrics to /metrics/).
_HOPS = 2
#: What is read of an answer that is an error.
_ERROR = 4 << 10
_TOLD = {
    401: "wants credentials: --bearer-token-file FILE, or user:password@ in the address",
    403: "refuses these credentials",
    404: "nothing is there; SGLang serves metrics with --enable-metrics only",
}


@dataclass(slots=True, frozen=True)
class Limits:
    """Time-outs in seconds and the largest answer in bytes (decompressed)."""

    connect: float = 5.0
    read: float = 10.0
    total: float = 20.0
    size: int = 32 << 20


class FetchError(Exception):
    """No usable answer; the text says why. ``late`` when there was none in time; ``body`` is that of an error."""

    def __init__(self, text: str, *, late: bool = False, body: bytes = b"") -> None:
        super().__init__(text)
        self.text = text
        self.late = late
        self.body = body


@dataclass(slots=True, frozen=True)
class Answer:
    """A complete answer. ``told`` is whether the server said how long it is: else its end may be missing."""

    body: bytes
    told: bool


class Fetcher:
    """Asks servers. ``passed`` is a monotonic clock in seconds, ``token`` a bearer token for all addresses."""

    def __init__(self, passed: Callable[[], float], token: str = "", limits: Limits = Limits()) -> None:  # noqa: B008 - frozen
        self.limits = limits
        self._passed = passed
        self._token = token

    def get(self, address: Address, target: str, accept: str) -> Answer:
        """Get path and query ``target`` of the server of ``address``. Raises FetchError."""
        import urllib3

        headers = {"Accept": accept, "Accept-Encoding": "gzip", "User-Agent": "diagnose", "Connection": "close"}
        if address.authorization or self._token:
            headers["Authorization"] = address.authorization or f"Bearer {self._token}"
        deadline = self._passed() + self.limits.total
        # One connection for each request: servers close idle ones, and a stale one looks like a server that is down.
        # A pool of its own knows no proxy: the environment is not asked.
        try:
            for _ in range(_HOPS + 1):
                with self._pool(address) as pool:
                    response = pool.urlopen(
                        "GET", target, headers=headers, redirect=False, retries=False, preload_content=False
                    )
                    try:
                        location = response.get_redirect_location()
                        if not location:
                            return self._answer(response, deadline)
                    finally:
                        response.close()
                target = _within(address, target, location)
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            raise self._said(error) from None
        raise FetchError(Sentence("redirects in a circle"))

    def _pool(self, address: Address) -> Any:
        import urllib3

        timeout = urllib3.Timeout(connect=self.limits.connect, read=self.limits.read)
        if not address.tls:
            return urllib3.HTTPConnectionPool(address.host, address.port, timeout=timeout)
        return urllib3.HTTPSConnectionPool(address.host, address.port, timeout=timeout, cert_reqs="CERT_REQUIRED")

    def _answer(self, response: Any, deadline: float) -> Answer:
        if response.status != 200:
            body = response.read(_ERROR, decode_content=True)
            told = _TOLD.get(response.status, response.reason or "")
            raise FetchError(f"HTTP {response.status}: {told[:200]}".rstrip(": "), body=body)
        blocks, size = [], 0
        # One read of the socket at a time, so that a trickle is noticed; stream() bounds neither time nor chunk heads.
        while block := response.read1(_BLOCK, decode_content=True):
            blocks.append(block)
            size += len(block)
            if size > self.limits.size:
                raise FetchError(Sentence("answers with more than {count} MiB", count=self.limits.size >> 20))
            if self._passed() > deadline:
                raise FetchError(
                    Sentence("the answer was not complete within {total} s", total=f"{self.limits.total:g}"), late=True
                )
        told = "content-length" in response.headers or bool(getattr(response, "chunked", False))
        return Answer(b"".join(blocks), told)

    def _said(self, error: Exception) -> FetchError:
        """Say what went wrong in words of the trade, without the library's own."""
        from urllib3 import exceptions as known

        cause = error.__cause__ or (error.args[-1] if error.args else None)
        match error:
            case known.NameResolutionError():
                return FetchError(Sentence("no such host"))
            case known.ReadTimeoutError():
                return FetchError(Sentence("nothing was sent for {read} s", read=f"{self.limits.read:g}"), late=True)
            case known.NewConnectionError():
                refused = isinstance(cause, ConnectionRefusedError)
                why = "connection refused: nothing listens there" if refused else _strerror(cause)
                return FetchError(why or "no connection")
            case known.ConnectTimeoutError():
                return FetchError(
                    Sentence("no connection within {connect} s", connect=f"{self.limits.connect:g}"), late=True
                )
            case known.SSLError():
                return FetchError(_tls(str(cause or error)))
            case known.DecodeError():
                return FetchError(Sentence("the compressed answer cannot be read"))
            case known.ProtocolError():
                return FetchError(Sentence("the connection was closed before the answer was complete"))
        return FetchError(Sentence("cannot be asked: {error}", error=_strerror(error) or type(error).__name__))


def _strerror(error: object) -> str:
    return str(getattr(error, "strerror", None) or "")


def _tls(text: str) -> str:
    if "WRONG_VERSION_NUMBER" in text or "wrong version number" in text:
        return Sentence("does not speak TLS: try http://")
    reason = text.partition("certificate verify failed:")[2].partition("(_ssl")[0].strip()
    if "ertificate" not in text:
        return Sentence("TLS failed")
    return Sentence("its certificate is not trusted: {reason}", reason=reason or Sentence("verification failed"))


def _within(address: Address, target: str, location: str) -> str:
    """Return the target of a redirect that stays on the server. Raises FetchError for one that leaves it."""
    there = urlsplit(urljoin(f"{address.origin}{target}", location))
    port = there.port or {"http": 80, "https": 443}.get(there.scheme)
    if (there.scheme, there.hostname, port) != ("https" if address.tls else "http", address.host, address.port):
        shown = there._replace(netloc=there.netloc.rpartition("@")[2]).geturl()
        raise FetchError(Sentence("redirects to {shown}, which was not named: not followed", shown=shown[:200]))
    return (there.path or "/") + (f"?{there.query}" if there.query else "")
