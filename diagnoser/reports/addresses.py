"""IP addresses in text, told apart from versions, times and other figures with dots and colons."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable

from diagnoser.patterns import lazily

_V4 = lazily(r"(?<!\d)(?<!\d\.)(?:\d{1,3}\.){3}\d{1,3}(?!\d|\.\d)")
#: Host names of AWS and the DNS names of pods hold the address with dashes.
_DASHED = lazily(
    r"(?i)(?<![\w-])(ip-)?(\d{1,3})-(\d{1,3})-(\d{1,3})-(\d{1,3})(?=$|[^\w-])(?(1)|(?=\.[\w-]+\.(?:pod|svc)\b))"
)
_V6 = lazily(r"(?<![\w:.])(?=[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*:)[0-9A-Fa-f:]+(?:(?:\d{1,3}\.){3}\d{1,3})?(?![\w:]|\.\d)")
#: What stands before four numbers that are a version: "version 9.10.2.21", "torch==2.8.0.1", "v1.2.3.4",
#: "libcudnn.so.9.5.1.17".
_VERSION_BEFORE = lazily(
    r"(?i)(?:(?:version|release|cudnn|cublas|cuda|tensorrt|\bcu\d\d)(?:[\w.]*['\"])?[\s=:_-]{0,3}['\"]?"
    r"|(?<![a-z])v|\.so\.|(?<![\w.-])(?!ip=|\w*(?:host|addr))[a-z][\w.-]*(?:==|[<>~!]=))\Z"
)
_VERSION_AFTER = lazily(r"(?:\.?(?:a|b|rc|dev|post)\d|\+)")
#: First groups in use: global, unique local, link local, multicast.
_PREFIX = lazily(r"(?i)(?:[23][0-9a-f]{3}|f[cdef][0-9a-f]{2})\Z")
_PORT_AFTER = lazily(r":\d|/\d\d?\b")
#: As far back as a word before a version may stand.
_BACK = 24

Alias = Callable[[str], str]


def replace(text: str, alias: Alias) -> str:
    """Return the text with each address given to ``alias``, in one spelling; loopback and "any" stay as they are."""
    if ":" in text:
        text = _V6.sub(lambda found: _v6(found, alias), text)
    if "." in text:
        text = _V4.sub(lambda found: _v4(found, alias), text)
    return _DASHED.sub(lambda found: _dashed(found, alias), text) if "-" in text else text


def _v4(found: re.Match[str], alias: Alias) -> str:
    written = found.group()
    octets = [int(part) for part in written.split(".")]
    # 0.10.1.1 is a version: no host has an address that begins with 0.
    if max(octets) > 255 or octets[0] in (0, 127):
        return written
    text, start, end = found.string, found.start(), found.end()
    if not _PORT_AFTER.match(text, end) and (
        _VERSION_AFTER.match(text, end) or _VERSION_BEFORE.search(text[max(0, start - _BACK) : start])
    ):
        return written
    return alias(".".join(map(str, octets)))


def _dashed(found: re.Match[str], alias: Alias) -> str:
    octets = [int(part) for part in found.groups()[1:]]
    return alias(".".join(map(str, octets))) if max(octets) <= 255 and octets[0] not in (0, 127) else found.group()


def _v6(found: re.Match[str], alias: Alias) -> str:
    written = found.group()
    try:
        address = ipaddress.IPv6Address(written)
    except ValueError:
        return written
    # "c10d::" and "a::" are names of C++ before a space; an address says more.
    groups = [part for part in written.split(":") if part]
    if address.is_loopback or address.is_unspecified or (len(groups) < 2 and not _PREFIX.match(groups[0])):
        return written
    mapped = address.ipv4_mapped
    if mapped is not None:
        return written if mapped.is_loopback or mapped.is_unspecified else alias(str(mapped))
    return alias(str(address))
