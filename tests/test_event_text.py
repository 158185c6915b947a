"""What an event keeps of a long record, and facts from a dump that stands before anything names the engine."""

from __future__ import annotations

from types import SimpleNamespace

from diagnoser.evidence import facts
from diagnoser.evidence.events import TEXT, line_first
from diagnoser.formats.pyrepr import find_dump
from diagnoser.knowledge.paths import rules_dir
from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.model import Run
from diagnoser.tables.table import Origin


def stack(frames: int) -> str:
    frame = '  File "/opt/sglang/layer_{n}.py", line {n}, in forward_{n}\n    return self.inner(hidden_states)'
    head = "Scheduler hit an exception: Traceback (most recent call last):"
    return "\n".join([head, *(frame.format(n=n) for n in range(frames)), "torch.OutOfMemoryError: no"])


def test_frames_nearest_to_the_exception_are_kept() -> None:
    text = stack(120)
    kept = line_first(text, text.count("\n"))
    assert len(kept) <= TEXT
    lines = kept.split("\n")
    assert lines[:2] == ["torch.OutOfMemoryError: no", "Scheduler hit an exception: Traceback (most recent call last):"]
    assert "in forward_119" in kept and "in forward_1\n" not in kept
    assert lines[-1] == "    return self.inner(hidden_states)"


def test_a_short_stack_is_kept_whole() -> None:
    text = stack(3)
    kept = line_first(text, text.count("\n"))
    assert sorted(kept.split("\n")) == sorted(text.split("\n"))


def test_one_very_long_line_is_enough() -> None:
    text = "head\n" + "x" * (3 * TEXT) + "\ntail"
    assert line_first(text, 1).startswith("x" * TEXT)
    assert line_first(text, 9).startswith("tail\nhead")


def test_dump_as_the_first_line_gives_facts() -> None:
    """SGLang to 0.2 prints "args=ServerArgs(...)" without a prefix, before any line that names the engine."""
    text = "args=ServerArgs(model_path='/models/m', mem_fraction_static=0.9, tp_size=1, chunked_prefill_size=8192)"
    dump = find_dump(text)
    assert dump is not None
    run = Run(id=0, stream="", engine="")
    record = SimpleNamespace(text=text, origin=Origin("server.log", 1))
    facts.read_dump(run, record, dump, Vocabulary.load(rules_dir()))  # type: ignore[arg-type]
    assert run.facts["memory.fraction"].value == 0.9
    assert run.facts["model.name"].value == "/models/m"
