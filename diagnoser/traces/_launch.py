"""How a container is started: the engine in its image and command line, the version in the image's tag, the flags."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

from diagnoser.values import dataclass, field

#: Words read of one command line; a longer one is no launch of a server.
MOST_WORDS = 2_000
LONGEST_WORD = 8_192

#: Modules and programs that start a server, and whose they are.
_PROGRAMS = {
    "vllm.entrypoints.openai.api_server": "vllm",
    "vllm.entrypoints.api_server": "vllm",
    "sglang.launch_server": "sglang",
    "sglang_router.launch_router": "sglang-router",
    "sglang_router": "sglang-router",
    "sglang-router": "sglang-router",
    "smg": "sglang-router",
    "vllm-router": "vllm-router",
}
_SERVED_BY = {"vllm": "vllm", "sglang": "sglang"}
_ENDS = {"&&", "||", "|", ";", "&", ">", ">>", "2>", "2>&1", "&>", "done", "fi"}
#: The tag of an image that is the engine's version: ``v0.9.2``, ``0.5.9-cu126``, ``rocm6.4.1_vllm_0.9.1_20250702``.
_TAG = re.compile(r"(?:\A|(?:vllm|sglang)[_-])v?(\d+\.\d+\.\d+(?:\.?(?:post|rc)\d+)?)(?![\d.])")
_SECRET = re.compile(r"(?i)key|token$|password|secret")
_NUMBER = re.compile(r"-?\d{1,18}")
_DECIMAL = re.compile(r"-?\d{1,18}\.\d{1,18}")
#: vLLM reads 32k as 32,000 and 32K as 32,768 (``human_readable_int``), where it asks for counts of tokens.
_SHORT = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)([kKmMgG])")
_SHORT_FLAGS = {"--max-model-len", "--max-num-batched-tokens"}
_SCALE = {"k": 1000, "m": 10**6, "g": 10**9, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(slots=True)
class Launch:
    """What a container runs. ``flags`` are (flag as spelt, value, number of the word list's element it stands in).

    ``engine`` is "" where neither command nor image names one.
    """

    engine: str = ""
    version: str = ""
    flags: list[tuple[str, Any, int]] = field(default_factory=list)


def launch(image: str, command: Sequence[str], args: Sequence[str]) -> Launch:
    """Read the launch of a container from its image, its command and its arguments."""
    engine, version = of_image(image)
    words = _words([*command, *args])
    found = _program(words)
    if found is not None:
        named, start = found
        version = version if named == engine else ""
        return Launch(named, version, _flags(named, words, start))
    # Arguments alone go to the image's own entry point, which is the server's.
    return Launch(engine, version, _flags(engine, words, 0) if engine and not command else [])


def of_image(image: str) -> tuple[str, str]:
    """Return the engine that an image's name tells and the version that its tag tells, "" each where it does not."""
    name, _, tag = image.partition("@")[0].rsplit("/", 1)[-1].partition(":")
    low = name.lower()
    if "router" in low or "gateway" in low:
        return ("sglang-router" if "sglang" in low else "vllm-router" if low.startswith("vllm-router") else ""), ""
    engine = next((one for one in ("sglang", "vllm") if one in low), "")
    named = low in ("vllm", "sglang") or low.startswith(("vllm-openai", "vllm-cpu"))
    hit = _TAG.search(tag) if named and engine else None
    return engine, hit[1] if hit else ""


def _words(elements: Sequence[str]) -> list[tuple[str, int]]:
    """Cut a command into words, scripts of a shell included, each with the element that it stands in."""
    words: list[tuple[str, int]] = []
    for number, element in enumerate(elements):
        if not isinstance(element, str):
            continue
        element = element[:LONGEST_WORD]
        whole = not re.search(r"\s", element) or element.lstrip()[:1] in ("{", "[")
        for word in [element] if whole else _split(element):
            words.append((word, number))
            if len(words) >= MOST_WORDS:
                return words
    return words


def _split(script: str) -> list[str]:
    script = re.sub(r"\\\s*(?:\n|\Z)", " ", script).replace("\n", " ; ")
    try:
        return shlex.split(script)
    except ValueError:
        return script.split()


def _program(words: Sequence[tuple[str, int]]) -> tuple[str, int] | None:
    """Return the engine that a command line starts and where its own arguments begin."""
    for at, (word, _) in enumerate(words):
        name = word.rsplit("/", 1)[-1]
        following = words[at + 1][0] if at + 1 < len(words) else ""
        if name in _SERVED_BY and following == "serve":
            return _SERVED_BY[name], at + 2
        if name in _PROGRAMS:
            return _PROGRAMS[name], at + 1
    return None


def _flags(engine: str, words: Sequence[tuple[str, int]], start: int) -> list[tuple[str, Any, int]]:
    flags: list[tuple[str, Any, int]] = []
    values: list[str] = []
    at = start
    first = words[at][0] if at < len(words) else ""
    if engine == "vllm" and first and not first.startswith("-") and first not in _ENDS and "$" not in first:
        flags.append(("--model", *words[at]))
    while at < len(words):
        word, number = words[at]
        at += 1
        if word in _ENDS:
            break
        if not re.match(r"--?[A-Za-z]", word):
            continue
        flag, equals, value = word.partition("=")
        values = [value] if equals else []
        while not equals and at < len(words) and not re.match(r"--?[A-Za-z]", words[at][0]):
            if words[at][0] in _ENDS:
                break
            values.append(words[at][0])
            at += 1
        # What a variable holds is not written here; what is secret is nobody's evidence.
        if any("$" in one for one in values) or _SECRET.search(flag):
            continue
        flags.append((flag, _value(engine, flag, values), number))
    return flags


def _value(engine: str, flag: str, values: Sequence[str]) -> Any:
    if not values:
        return not flag.startswith("--no-")
    text = " ".join(values)
    short = _SHORT.fullmatch(text) if engine == "vllm" and flag.replace("_", "-") in _SHORT_FLAGS else None
    if short:
        return int(float(short[1]) * _SCALE[short[2]])
    if _NUMBER.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text):
        return float(text)
    return {"true": True, "True": True, "false": False, "False": False}.get(text, text)
