"""Long logs with odd lines strewn in, and all that was read of one, to be compared."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from serverlogs import knowledge

from benchmarks import inputs
from diagnoser.model import Run
from diagnoser.rules.evaluating.fields import evaluate_fields
from diagnoser.session.reading import Kit, Window, read
from diagnoser.skimming.ahead import Others
from diagnoser.values import field_names

WOVEN = ("crlf", "colours", "kubectl", "cri", "docker")
HEADS = {"access": inputs.access, "batches": inputs.batches}

#: Lines that break a shape, close or keep open what is open, or look like what they are not.
ODD = (
    "INFO 01-12 {clock} [loggers.py:127] Engine 000: Avg prompt throughput: 1.0 tokens/s, Running: 1 reqs",
    "(EngineCore_DP0 pid=90) ERROR {clock12} [core.py:710] EngineCore encountered a fatal error.",
    "(EngineCore_DP0 pid=90) ERROR {clock12} [core.py:710] Traceback (most recent call last):",
    '(EngineCore_DP0 pid=90) ERROR {clock12} [core.py:710]   File "a.py", line 3, in step',
    "(EngineCore_DP0 pid=90) ERROR {clock12} [core.py:710] RuntimeError: boom",
    "Traceback (most recent call last):",
    '  File "b.py", line 7, in f',
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
    "",
    "   an indented rest",
    '(APIServer pid=88) INFO:     10.0.0.1:5 - "POST /v1/chat/completions HTTP/1.1" 500 Internal Server Error',
    '(APIServer pid=88) INFO:     10.0.0.1:5 - "POST /v2/chat/completions HTTP/1.1" 200 OK',
    '(APIServer pid=89) INFO:     10.0.0.1:5 - "GET /health HTTP/1.1" 200 OK',
    '(APIServer pid=88) INFO:     10..0.1:5 - "POST /v1/chat/comp1letions HTTP/1.1" 200 OK',
    "(APIServer pid=88) INFO {clock12} [logger.py:39] Received request chatcmpl-1: prompt: 'cut",
    "(APIServer pid=88) INFO {clock12} [logger.py:39] Received request chatcmpl-7: prompt: 'ERROR 01-12 10:00:00"
    " [core.py:1] CUDA out of memory', params: SamplingParams(n=1), prompt_token_ids: None, lora_request: None.",
    "(APIServer pid=88) INFO {clock12} [logger.py:39] the same call speaks of something else",
    '\x1b[32mINFO\x1b[0m:     10.0.0.1:5 - "GET /health HTTP/1.1" 200 OK',
    "100%|██████████| 35/35 [00:20<00:00,  1.71it/s]",
    "[2026-01-12 {clock} TP0] Decode batch, #running-req: 41, #token: , token usage: 0.25, cuda graph: True,"
    " gen throughput (token/s): 5555.19, #queue-req: 31",
    "[2026-01-12 {clock} TP1] Decode batch, #running-req: 1, #token: 2, token usage: 0.25, cuda graph: False,"
    " gen throughput (token/s): 5.1, #queue-req: 99999999999999999999",
    "[2026-01-13 {clock} TP0] Decode batch, #running-req: 3, #token: 2, token usage: 0.5, cuda graph: True,"
    " gen throughput (token/s): 0.0, #queue-req: 0",
    "[2026-01-12 {clock}] Receive: obj=GenerateReqInput(text=\"a user's",
    "[2026-01-12 {clock} TP0] KV cache pool is full. Retract requests. #retracted_reqs: 3",
    "[2026-01-12 {clock}] server_args=ServerArgs(model_path='other', tp_size=2)",
    "INFO 01-12 {clock} [api_server.py:1034] vLLM API server version 0.9.2",
)


def log(kind: str, seed: int, count: int, odd: int) -> bytes:
    """Return a log of some lines with odd ones strewn in, alone or in groups."""
    dice = random.Random(seed)
    made: Iterator[str] = inputs.KINDS[kind](random.Random(seed))
    places = {dice.randrange(600, count) for _ in range(odd)}
    lines = []
    for number in range(count):
        lines.append(next(made))
        if number in places:
            clock = inputs.clock(inputs.START + number / 10)
            odds = dice.choices(ODD, k=dice.choice((1, 1, 2, 5)))
            lines += [one.format(clock=clock, clock12=f"01-12 {clock}") for one in odds]
    return ("\n".join(lines) + "\n").encode()


def blocks(data: bytes, cuts: list[int]) -> Iterator[tuple[str, int, bytes]]:
    """Cut a log behind the line breaks that follow some places."""
    number, at = 1, 0
    for cut in [*sorted(cuts), len(data)]:
        end = data.find(b"\n", min(cut, len(data) - 1)) + 1
        if end > at:
            yield "a.log", number, data[at:end]
            number += data.count(b"\n", at, end)
            at = end


class Given:
    """A source whose blocks are given."""

    name, kind, state = "a.log", "log", "ok"
    parts: tuple[Any, ...] = ()

    def __init__(self, data: bytes, cuts: list[int]) -> None:
        self._given = (data, cuts)
        self.lines = self.bytes = 0
        self.problems: list[Any] = []

    def size(self) -> None:
        """Nobody knows."""

    def line_blocks(self) -> Iterator[tuple[str, int, bytes]]:
        return blocks(*self._given)

    def raw_lines(self) -> Iterator[tuple[str, int, bytes]]:
        lines = self._given[0].split(b"\n")[:-1]
        return ((self.name, number, line) for number, line in enumerate(lines, 1))


def kit() -> Kit:
    known = knowledge()
    return Kit(known.vocabulary, known.matcher, evaluate_fields)


def evidence(data: bytes, cuts: list[int], skim: bool = True, others: Others | None = None) -> list[Any]:
    # Under a time filter, even an open one, every line is read.
    window = None if skim else Window()
    source: Any = Given(data, cuts)
    runs, _ = read([source], kit(), window=window, others=others)
    return [plain(run) for run in runs]


def plain(value: Any) -> Any:
    """Turn a run to what can be compared: columns are lists, NaN is None."""
    if isinstance(value, Run):
        tables = {
            key: (list(map(plain, table.time)), list(table.weight), list(table.line), table.text, plain(table.columns))
            for key, table in value.tables.items()
        }
        named = {name: plain(getattr(value, name)) for name in field_names(value) if name != "tables"}
        return named | {"tables": tables}
    if isinstance(value, float):
        return None if value != value else value
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if names := field_names(value):
        return {name: plain(getattr(value, name)) for name in names}
    if hasattr(value, "typecode") or isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value


def woven(data: bytes, how: str) -> bytes:
    """Give a log the line ends of Windows, a terminal's colours, or a runtime's envelope."""
    if how == "crlf":
        return data.replace(b"\n", b"\r\n")
    lines = data.split(b"\n")[:-1]
    if how != "colours":
        wrap = inputs.WRAP[how]
        return b"".join(
            wrap(inputs.START + number / 10, line.decode()).encode() + b"\n" for number, line in enumerate(lines)
        )
    return b"".join(b"\x1b[1;36m%b\x1b[0;0m%b\n" % (line[:21], line[21:]) for line in lines)


def narrow(data: bytes, width: int, share: float, dice: random.Random) -> bytes:
    """Leave out what is longer than any terminal, and break a share of the longer lines at a width."""
    made = []
    for line in data.split(b"\n")[:-1]:
        if len(line) > width and dice.random() < share:
            made += [line[at : at + width] for at in range(0, len(line), width)]
        elif len(line) <= 400:
            made.append(line)
    return b"\n".join(made) + b"\n"


def differences(one: Any, other: Any, where: str = "") -> Iterator[str]:
    """Yield where two pieces of evidence differ: pytest takes minutes to say it of thousands of rows."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for name in one:
            yield from differences(one[name], other[name], f"{where}.{name}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for at, pair in enumerate(zip(one, other, strict=True)):
            yield from differences(*pair, f"{where}[{at}]")
    elif one != other:
        yield f"{where}: {one!r:.200} | {other!r:.200}"
