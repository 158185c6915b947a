"""A report fit to be handed on: what tells of people and machines goes, what tells of the fault stays.

Done once, on the report as data and before any format sees it. Hidden are secrets (``redact.py``), IP addresses
(``addresses.py``), e-mail addresses, user names in home folders, credentials and queries of URLs, and what clients and
models wrote (``quoted.py``). One address is one pseudonym in one report (``ip-1``), so that what belongs together
can be seen. Names of hosts, pods and files stay: an operator cannot act without them.
"""

from __future__ import annotations

import re
from typing import Any

from diagnoser.patterns import lazily
from diagnoser.reports import addresses, quoted
from diagnoser.reports.redact import MASK, mask
from diagnoser.values import field_names

_USERINFO = lazily(r"(?<=://)[^\s/'\"<>]+(?=@)")
_QUERY = lazily(
    r"(?P<url>[a-z0-9]://[^\s?'\"<>]*|(?<![\w./%~-])[\w./%~-]*/[\w.%~-]*"
    r"(?=\?[\w.%~\[\]-]+=))\?[^\s'\"<>]+"
)
_MAIL = lazily(r"(?<![\w.+%-])[\w.+%-]+@[A-Za-z0-9][\w-]*(?:\.[\w-]+)*\.[A-Za-z]{2,}(?![\w-])")
#: /home/NAME, /Users/NAME, C:\Users\NAME (in JSON and in Python's own spelling too), ~NAME.
_HOME = lazily(
    r"(?i)((?:/home/|/users/|[a-z]:(?:\\{1,2}|/)users(?:\\{1,2}|/))|(?<![\w.~])~(?=[a-z_][\w.-]*/))([^\s/\\'\":,;<>()\[\]{}]+)"
)
#: Accounts of machines and images, not of people.
_ACCOUNTS = frozenset(
    {"root", "runner", "ubuntu", "ec2-user", "debian", "admin", "user", "app", "vllm", "sglang", "dynamo", "jovyan"}
    | {"nobody", "shared", "public", "default", "ray", "ollama", "azureuser", "opc", "appuser", "nonroot"}
)
_ALIAS = lazily(r"(?:user|mail|ip)-\d+\Z")
#: What is a version by its name: four numbers in it are no address.
_VERSIONS = lazily(r"(?:.*[._])?version\Z")
_VERSION = lazily(r"v?\d+(?:\.\d+){1,3}(?:[.+-]?[\w.+-]*)?\Z")


class Redactor:
    """Redacts one report and what belongs to it; pseudonyms are numbered in the order of first sight.

    ``folder`` is the working directory: paths under it are written from there on.
    """

    def __init__(self, folder: str = "") -> None:
        folder = folder.rstrip("/\\")
        self._folders = [folder + slash for slash in "/\\"] if folder else []
        self._aliases: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}
        #: The same line is evidence, sample and residue.
        self._known: dict[str, str] = {}

    def of(self, value: Any, name: str = "") -> Any:
        """Return a copy of any of the report's data; ``name`` is that of the field or key it stands under."""
        if isinstance(value, str):
            if quoted.names_content(name):
                return quoted.hidden(value)
            if _VERSIONS.match(name) and _VERSION.match(value):
                return value
            return self.text(value)
        if value is None or isinstance(value, bool | int | float):
            return value
        if fields := field_names(value):
            # What a field of the report is called is no name that somebody logged.
            return type(value)(**{field: self._field(getattr(value, field), field) for field in fields})
        if isinstance(value, dict):
            return {self.of(key): self.of(item, key if isinstance(key, str) else "") for key, item in value.items()}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*(self.of(item) for item in value))
        if isinstance(value, list | tuple | set | frozenset):
            return type(value)(self.of(item) for item in value)
        return value

    def _field(self, value: Any, field: str) -> Any:
        return self.of(value, field if field in ("engine_version", "version", "schema_version") else "")

    def text(self, text: str) -> str:
        """Return a text without what must not be handed on."""
        if text not in self._known:
            self._known[text] = self._redacted(text)
        return self._known[text]

    def _redacted(self, text: str) -> str:
        for folder in self._folders:
            text = text.replace(folder, "")
        text = mask(quoted.hide(text))
        if "://" in text:
            text = _USERINFO.sub(MASK, text)
        if "?" in text:
            text = _QUERY.sub(lambda found: f"{found['url']}?{MASK}", text)
        if "@" in text:
            text = _MAIL.sub(lambda found: self._alias("mail", found.group().lower()), text)
        text = addresses.replace(text, lambda address: self._alias("ip", address))
        return _HOME.sub(self._home, text) if "/" in text or "\\" in text else text

    def _home(self, found: re.Match[str]) -> str:
        lead, name = found.groups()
        return found.group() if name.lower() in _ACCOUNTS else lead + self._alias("user", name)

    def _alias(self, kind: str, key: str) -> str:
        if _ALIAS.match(key):
            return key
        if (kind, key) not in self._aliases:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._aliases[kind, key] = f"{kind}-{self._counts[kind]}"
        return self._aliases[kind, key]
