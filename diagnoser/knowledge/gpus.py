"""GPUs by the names that drivers and engines print, read from ``gpus.yaml``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from diagnoser.knowledge.yamlfile import Document, YamlError, load
from diagnoser.values import dataclass, field

LINKS = ("nvlink", "bridge", "xgmi", "none")
_NUMBERS = ("memory_gib", "bandwidth_gbs", "fp16_tflops", "bf16_tflops", "fp8_tflops", "fp4_tflops")
_TEXTS = ("title", "arch", "capability", "link", "note", "source")
_NOT_WORD = re.compile(r"[^a-z0-9]+")
#: A slice of a GPU or a mobile part under a desktop name: the figures of the whole would be wrong.
_OTHER = frozenset({"mig", "laptop", "mobile"})


@dataclass(slots=True, frozen=True)
class Gpu:
    """One GPU as sold. Figures are None where no public source was certain.

    ``memory_gib`` in GiB, ``bandwidth_gbs`` in GB/s, ``*_tflops`` dense tensor TFLOP/s. ``capability`` is the CUDA
    compute capability or the gfx target. ``link``: "nvlink", "bridge" (NVLink between two cards, if fitted), "xgmi",
    "none". ``attention`` maps engine to the attention backend that it prefers here (ordinary models, not MLA).
    """

    id: str
    title: str
    vendor: str
    arch: str
    capability: str
    link: str
    names: tuple[str, ...]
    source: str
    memory_gib: float | None = None
    bandwidth_gbs: float | None = None
    fp16_tflops: float | None = None
    bf16_tflops: float | None = None
    fp8_tflops: float | None = None
    fp4_tflops: float | None = None
    note: str = ""
    attention: Mapping[str, str] = field(default_factory=dict)

    @property
    def nvlink(self) -> bool:
        """Whether more than two of them are joined by NVLink as a rule."""
        return self.link == "nvlink"


class GpuTable:
    """All GPUs; ask it with `find`."""

    def __init__(self, gpus: Mapping[str, Gpu]) -> None:
        self.gpus = gpus
        self._names = sorted(
            ((tuple(name.split()), gpu) for gpu in gpus.values() for name in gpu.names),
            key=lambda item: (-len(item[0]), item[0]),
        )

    @classmethod
    def load(cls, rules: Path) -> GpuTable:
        """Read ``gpus.yaml`` in the folder ``rules``. Raises YamlError with the place of the first fault."""
        document = load(rules / "gpus.yaml")
        data = document.data
        if not isinstance(data, dict) or not all(isinstance(data.get(k), dict) for k in ("architectures", "gpus")):
            raise document.error((), "expected the keys architectures and gpus, each a mapping")
        return cls({name: _gpu(document, name, row, data["architectures"]) for name, row in data["gpus"].items()})

    def find(self, text: str) -> Gpu | None:
        """Return the GPU that a text names: ``NVIDIA H100 80GB HBM3``, ``NVIDIA_A100-SXM4-80GB``, ``l40s``.

        The longest name wins. None for parts of a GPU (MIG), mobile parts, and names that leave the memory open
        ("A100").
        """
        words = tuple(_NOT_WORD.sub(" ", text.lower()).split())
        if _OTHER.intersection(words):
            return None
        for name, gpu in self._names:
            size = len(name)
            if any(words[at : at + size] == name for at in range(len(words) - size + 1)):
                return gpu
        return None


def _gpu(document: Document, name: str, row: Any, archs: Mapping[str, Any]) -> Gpu:
    path = ("gpus", name)
    if not isinstance(row, dict):
        raise document.error(path, f"{name} must be a mapping")
    for key, value in row.items():
        if key not in (*_NUMBERS, *_TEXTS, "names"):
            raise document.unknown((*path, key), key, (*_NUMBERS, *_TEXTS, "names"), "key")
        wanted = int | float if key in _NUMBERS else list if key == "names" else str
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise document.error((*path, key), f"{key} has a value of the wrong kind: {value!r}")
    for key in ("title", "arch", "link", "names", "source", "memory_gib"):
        if key not in row:
            raise document.error(path, f"{name}: {key} is missing")
    if row["link"] not in LINKS:
        raise document.unknown((*path, "link"), row["link"], LINKS, "link")
    if row["arch"] not in archs:
        raise document.unknown((*path, "arch"), row["arch"], tuple(archs), "arch")
    arch = archs[row["arch"]]
    fields = {key: row[key] for key in (*_NUMBERS, "title", "arch", "link", "note", "source") if key in row}
    capability = row.get("capability") or arch["capability"]
    names = tuple(str(word) for word in row["names"])
    try:
        return Gpu(
            id=name,
            vendor=arch["vendor"],
            capability=capability,
            names=names,
            attention=dict(arch.get("attention", {})),
            **fields,
        )
    except (KeyError, TypeError) as error:
        raise YamlError(document.file, *document.place(path), f"{name}: {error}") from None
