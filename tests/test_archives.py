"""Archives as inputs: tar and zip, compressed or piped; what leads out, is no file, is damaged or grows is told."""

from __future__ import annotations

import bz2
import gc
import gzip
import io
import lzma
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from diagnoser.sources import InputError, Source, archive, open_inputs

LINE = b"INFO 11-29 12:00:00 [loggers.py:118] Engine 000: Running: 3 reqs\n"
FILES = {
    "llm-0/vllm.log": LINE * 3,
    "llm-0/vllm.previous.log": LINE * 2,
    "llm-0/old.log.gz": gzip.compress(LINE),
    "pods.json": b'{"kind": "List", "items": []}',
    "weights.bin": b"\0" * 100,
    "._llm.log": b"x",
}


def tarred(files: dict[str, bytes], **more: object) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", **more) as packed:  # type: ignore[call-overload]
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            packed.addfile(info, io.BytesIO(content))
    return out.getvalue()


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return out.getvalue()


FORMS: dict[str, Callable[[dict[str, bytes]], bytes]] = {
    "tar": tarred,
    "gnu.tar": lambda files: tarred(files, format=tarfile.GNU_FORMAT),
    "tar.gz": lambda files: gzip.compress(tarred(files)),
    "tar.bz2": lambda files: bz2.compress(tarred(files)),
    "tar.xz": lambda files: lzma.compress(tarred(files)),
    "tar.zst": lambda files: zstandard.compress(tarred(files)),
    "zip": zipped,
}


def piped(data: bytes) -> list[Source]:
    return open_inputs(["-"], io.BytesIO(data))


def told(sources: list[Source]) -> str:
    return " | ".join(problem.text for source in sources for problem in source.problems)


@pytest.mark.parametrize("pipe", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_members_are_inputs(form: str, pipe: bool, tmp_path: Path) -> None:
    data = FORMS[form](FILES)
    (tmp_path / "a.bundle").write_bytes(data)  # told by its content, never by its name
    sources = piped(data) if pipe else open_inputs([str(tmp_path / "a.bundle")], None)
    assert [(one.name, one.kind, one.state) for one in sources] == [
        ("llm-0/vllm.log", "log", "ok"),
        ("llm-0/old.log.gz", "log", "ok"),
        ("pods.json", "json", "ok"),
    ]
    # What the container wrote before its restart and after it is one log; each can be read again.
    for _ in range(2):
        lines = [(name, number) for name, number, _ in sources[0].raw_lines()]
        assert lines == [("llm-0/vllm.previous.log", n) for n in (1, 2)] + [("llm-0/vllm.log", n) for n in (1, 2, 3)]
    assert [text for *_, text in sources[1].raw_lines()] == [LINE[:-1]]
    assert told(sources) == ""


def test_names_beside_other_inputs(tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(tarred({"x.log": LINE}))
    (tmp_path / "b.log").write_bytes(LINE)
    sources = open_inputs([str(tmp_path / "a.tar"), str(tmp_path / "b.log")], None)
    assert [one.name for one in sources] == [str(tmp_path / "a.tar" / "x.log"), str(tmp_path / "b.log")]


def test_archives_in_a_folder(tmp_path: Path) -> None:
    """Two of them hold members of one name: theirs goes before it."""
    for name in ("a.tar.gz", "b.tgz", "c.zip"):
        (tmp_path / name).write_bytes(FORMS["tar.gz"]({"x.log": LINE}))
    sources = open_inputs([str(tmp_path)], None)
    assert [one.name for one in sources] == [str(tmp_path / name / "x.log") for name in ("a.tar.gz", "b.tgz")]


@pytest.mark.parametrize("form", ["tar", "zip"])
@pytest.mark.parametrize("name", ["../../etc/x.log", "/etc/x.log", "a/../../x.log", "..\\..\\x.log"])
def test_names_that_lead_out(name: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sources = piped(FORMS[form]({name: LINE, "ok.log": LINE}))
    assert [one.name for one in sources] == ["ok.log", "stdin"]
    assert "leads out of the archive" in told(sources)
    assert not list(tmp_path.iterdir()), "nothing is ever unpacked under its own name"


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_not_followed(kind: bytes, tmp_path: Path) -> None:
    (tmp_path / "secret.log").write_bytes(b"ERROR secret\n")
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as packed:
        info = tarfile.TarInfo("link.log")
        info.type, info.linkname = kind, str(tmp_path / "secret.log")
        packed.addfile(info)
        info = tarfile.TarInfo("ok.log")
        info.size = len(LINE)
        packed.addfile(info, io.BytesIO(LINE))
    sources = piped(out.getvalue())
    assert [one.name for one in sources] == ["ok.log", "stdin"]
    assert told(sources) == "link.log: is no plain file"


def test_links_and_secrets_in_a_zip() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        link = zipfile.ZipInfo("link.log")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        packed.writestr(link, "/etc/passwd")
        packed.writestr("ok.log", LINE)
        packed.writestr("locked.log", LINE)
    data = bytearray(out.getvalue())
    for mark, at in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):  # the bit that says "encrypted"
        data[data.rfind(mark) + at] |= 1
    sources = piped(bytes(data))
    assert [one.name for one in sources] == ["ok.log", "stdin"]
    assert told(sources) == "link.log: is no plain file | locked.log: is encrypted"


def test_a_window_as_large_as_the_archive_asks_for() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr("a.log", LINE, zipfile.ZIP_LZMA)
        packed.writestr("b.log", LINE, zipfile.ZIP_BZIP2)
    sources = piped(out.getvalue())
    assert [one.name for one in sources] == ["b.log", "stdin"]
    assert told(sources) == "a.log: is packed in a way that is not read"


def test_archives_in_archives() -> None:
    sources = piped(tarred({"ok.log": LINE, "inner.log": zipped({"x.log": LINE}), "i.log.gz": FORMS["tar.gz"](FILES)}))
    assert [one.state for one in sources] == ["ok", "binary", "binary"]
    assert told(sources).count("an archive in an archive: not read") == 2


@pytest.mark.parametrize("form", ["tar", "tar.gz", "zip"])
def test_bounds(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = FORMS[form]({f"n{n}x.log": LINE * 10 for n in range(20)})
    monkeypatch.setattr(archive, "MOST_MEMBERS", 5)
    sources = piped(data)
    assert len(sources) == 6 and "more than 5 members" in told(sources)
    monkeypatch.setattr(archive, "MOST_MEMBERS", 100)
    monkeypatch.setattr(archive, "MOST_BYTES", 1000)
    sources = piped(data)
    assert "more than 1,000 bytes" in told(sources)
    assert sum(len(list(one.raw_lines())) for one in sources) <= 16


def test_bombs_end_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_BYTES", 5 << 20)
    monkeypatch.setattr(archive, "SPOOL", 1 << 20)
    for form in ("tar.xz", "tar.zst", "zip"):
        sources = piped(FORMS[form]({"a.log": LINE * 100, "bomb.log": b"\n" * (12 << 20), "b.log": LINE}))
        assert [one.name for one in sources] == ["a.log", "bomb.log", "stdin"]
        assert sum(map(len, sources[1].blocks())) < 5 << 20


def test_a_header_larger_than_any_path() -> None:
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 3 << 30
    data = tarred({"ok.log": LINE}).rstrip(b"\0")
    data += b"\0" * (-len(data) % 512) + info.tobuf(tarfile.GNU_FORMAT) + b"x" * 4096
    sources = piped(data)
    assert [one.name for one in sources] == ["ok.log", "stdin"]
    assert "larger than any path" in told(sources)


def test_a_table_of_contents_larger_than_memory() -> None:
    data = bytearray(zipped({"ok.log": LINE}))
    end = data.rfind(b"PK\x05\x06")
    data[end + 12 : end + 16] = (3 << 30).to_bytes(4, "little")
    with pytest.raises(InputError, match="table of contents"):
        piped(bytes(data))


@pytest.mark.parametrize("form", FORMS)
def test_cut_and_damaged(form: str) -> None:
    """What stands before the damage is read, and no damage raises anything but the error for the user."""
    files = {f"n{n}x.log": os.urandom(300).hex().encode() + b"\n" + LINE for n in range(12)}
    data = FORMS[form](files)
    for part in range(1, 24):
        at = len(data) * part // 24
        for broken in (data[:at], data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]):
            try:
                sources = piped(broken)
                for one in sources:
                    list(one.raw_lines())
            except InputError:
                continue
            if form == "tar" and len(broken) < len(data.rstrip(b"\0")):
                assert told(sources)
    if form == "tar":
        assert piped(data[: len(data) // 2])[0].name == "n0x.log"


def test_nothing_to_read_in_it() -> None:
    for data in (zipped({"model/weights.bin": b"x"}), tarred({}), zipped({}), tarred({"a.py": b"x"})):
        if not any(data[:512]):
            continue
        with pytest.raises(InputError, match="no logs nor measurements"):
            piped(data)


def test_a_member_twice() -> None:
    data = tarred({"a.log": LINE})
    end = data.rstrip(b"\0")
    twice = end + b"\0" * (-len(end) % 512) + tarred({"a.log": b"ERROR other\n"})
    assert "it is there twice" in told(piped(twice))


def test_the_copy_is_gone_with_the_last_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "SPOOL", 16)  # a real file at once
    sources = piped(tarred({"a.log": LINE}))
    file = sources[0].parts[0]._opener.args[0].file  # type: ignore[union-attr]
    assert not file.closed
    del sources
    gc.collect()
    assert file.closed
