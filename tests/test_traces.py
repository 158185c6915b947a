"""Readers of traces: each module's own samples, and that no other module takes them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from diagnoser.model import Problem
from diagnoser.sources import open_inputs
from diagnoser.traces import reader_of, readers

SAMPLES = [(reader, content, number) for reader in readers() for content, number in reader.SAMPLES]


def _bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode()


@pytest.mark.parametrize(("reader", "content", "number"), SAMPLES, ids=lambda value: getattr(value, "NAME", None))
def test_samples_of_a_reader(reader, content, number):
    (source,) = open_inputs(["-"], io.BytesIO(_bytes(content)))
    assert reader_of(source) is reader
    given = list(reader.read(source, lambda name: True))
    assert not [one for one in given if isinstance(one, Problem)]
    assert len(given) == number


@pytest.mark.parametrize("reader", readers(), ids=lambda reader: reader.NAME)
def test_a_reader_is_named_after_its_file(reader):
    assert Path(reader.__file__).stem.replace("_", "-") == reader.NAME
    assert reader.SAMPLES, "a reader without a sample is untested"


@pytest.mark.parametrize(("reader", "content", "number"), SAMPLES, ids=lambda value: getattr(value, "NAME", None))
def test_a_cut_input_is_read_as_far_as_it_goes(reader, content, number):
    """Half a file never raises: what is whole counts, the rest is a problem at most."""
    for end in range(0, len(content), max(1, len(content) // 40)):
        data = _bytes(content[:end])
        if not data.strip():
            continue
        (source,) = open_inputs(["-"], io.BytesIO(data))
        if source.state == "ok" and source.kind in reader.KINDS and reader.recognise(source.head()):
            list(reader.read(source, lambda name: True))
