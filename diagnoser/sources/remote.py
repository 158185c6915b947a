"""Inputs by address on shared storage (``s3://``, ``gs://``, ``file://``, ``memory://``), opened with fsspec.

Credentials are the library's own affair (environment, instance roles, its configuration files); what is said of an
address here never holds any. Nothing here is loaded unless such an address was named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, BinaryIO

from diagnoser.knowledge.words import hint
from diagnoser.patterns import lazily
from diagnoser.sources.names import MAX_FILES, InputError, worth_opening
from diagnoser.sources.part import Part

_SECRET = lazily(r"(?<=://)[^/@\s]*@|(?<=[?&])[^=&\s]*=[^&\s]*")
#: What is worth telling of an error: a word like NoSuchBucket, never a whole sentence that may quote a key.
_CODE = re.compile(r"\b[A-Z][a-z]+(?:[A-Z][a-z]+)+\b")


def shown(address: str) -> str:
    """Return an address without what could be a secret in it."""
    return _SECRET.sub("…", address)


def parts(address: str) -> Iterator[Part]:
    """Yield the files behind an address: itself, those that a pattern fits, those of a folder that look like logs.

    Raises ``InputError`` when there is none, its protocol is unknown or needs another package, or it cannot be read.
    """
    system, path = _system(address)
    try:
        if any(one in path for one in "*?["):
            found = sorted(system.glob(path))
            if not found:
                raise InputError(f"nothing fits {shown(address)}")
        elif system.isdir(path):
            found = sorted(name for name in system.find(path) if worth_opening(PurePosixPath(name).name))
            if not found:
                raise InputError(f"no logs in {shown(address)}, nor measurements")
        else:
            system.info(path)
            found = [path]
    except FileNotFoundError:
        raise InputError(f"no such file or folder: {shown(address)}") from None
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"cannot read {shown(address)}: {_why(error)}") from None
    if len(found) > MAX_FILES:
        raise InputError(f"{shown(address)} holds more than {MAX_FILES} log files: name a narrower one")
    for name in found:
        yield part(system.unstrip_protocol(name))


def part(address: str) -> Part:
    """Return one file as what is read."""
    return Part(shown(address), opener=Opener(address), address=address)


class Opener:
    """Opens a file by its address, again and again. Pickled, it is the address."""

    def __init__(self, address: str) -> None:
        self.address = address

    def __call__(self) -> BinaryIO:
        """Open it. Raises ``OSError`` with a reason that holds no secret."""
        system, path = _system(self.address)
        try:
            return system.open(path, "rb")  # type: ignore[no-any-return]
        except Exception as error:
            raise OSError(_why(error)) from None


def _system(address: str) -> tuple[Any, str]:
    protocol = address.partition("://")[0].lower()
    try:
        import fsspec
    except ImportError:
        raise InputError(f"{shown(address)}: needs the extra 'remote': pip install 'diagnoser[remote]'") from None
    known = fsspec.available_protocols()
    if protocol not in known:
        raise InputError(f"{shown(address)}: unknown protocol {protocol}{hint(protocol, known)}")
    try:
        return fsspec.core.url_to_fs(address)  # type: ignore[no-any-return]
    except ImportError as error:
        package = _package(protocol, str(error))
        raise InputError(
            f"{shown(address)}: {protocol}:// needs the package {package}: pip install {package}"
        ) from None
    except Exception as error:
        raise InputError(f"cannot read {shown(address)}: {_why(error)}") from None


def _package(protocol: str, said: str) -> str:
    named = re.search(r"\b(s3fs|gcsfs|adlfs|ocifs|paramiko|sshfs|pyarrow|ossfs)\b", said, re.IGNORECASE)
    return named[1].lower() if named else f"that fsspec names for {protocol}"


def _why(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    code = _CODE.search(str(error))
    return f"{type(error).__name__}" + (f" ({code[0]})" if code else "")
