"""tqdm progress bars. A bar ends without a line break, so a log line may follow it on the same physical line."""

from __future__ import annotations

from diagnoser.formats.base import Head
from diagnoser.patterns import lazily

NAME = "progress"
ORDER = 50

_BAR = lazily(
    r"[^'\"\n]{0,200}?(?:\d{1,3}%\|[^|]{0,200}\||\d{1,3}% Completed \|) ?[\d.]+[kMGT]?i?B?/[\d.?]+[kMGT]?i?B? "
    r"\[[^\]\n]{0,120}\]"
)
# A bar without a total: "12it [00:03,  4.00it/s]".
_COUNT = lazily(
    r"(?:[^'\"\n\[]{0,120}: )?\d+(?:it|B|MB|GB)? \[\d\d:\d\d(?::\d\d)?,[^\]\n]{0,60}(?:/s|s/it)[^\]\n]{0,60}\]"
)


def bar_end(text: str) -> int:
    """Length of the bar a line starts with, 0 when it starts with none."""
    if "%" not in text[:260] and "[" not in text[:160]:
        return 0
    found = _BAR.match(text) or _COUNT.match(text)
    return found.end() if found is not None else 0


def head(text: str) -> Head | None:
    """Recognise a bar; its text stays as printed, without the padding in front."""
    if "/s" not in text and "s/it" not in text and "?it" not in text:
        return None
    end = bar_end(text)
    if end == 0:
        return None
    return Head(NAME, "message", text.strip(), "INFO")


SAMPLES: list[tuple[str, dict[str, object]]] = [
    (
        "Loading safetensors checkpoint shards:  50% Completed | 2/4 [00:03<00:03,  1.6s/it]",
        {"text": "Loading safetensors checkpoint shards:  50% Completed | 2/4 [00:03<00:03,  1.6s/it]"},
    ),
    ("Capturing CUDA graph shapes: 100%|██████████| 35/35 [00:20<00:00,  1.71it/s]", {"kind": "message"}),
    ("Capturing batches (bs=128 avail_mem=31.18 GB):   0%|          | 0/23 [00:00<?, ?it/s]", {}),
    ("  0%|          | 0/512 [00:00<?, ?it/s]", {"text": "0%|          | 0/512 [00:00<?, ?it/s]"}),
    ("model-00001-of-00004.safetensors:  12%|█▏        | 587M/4.98G [00:10<01:15, 58.1MB/s]", {}),
]
