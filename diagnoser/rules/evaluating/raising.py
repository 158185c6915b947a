"""Where in a stack an exception was raised: the innermost frame of the engine's own code, and that of a library."""

from __future__ import annotations

from functools import lru_cache

from diagnoser.patterns import lazily

#: What is told of a stack.
PLACES = ("raised_in", "raised_by")

_FRAME = lazily(r'File "([^"\n]+)", line \d+, in (\S+)')
#: Below it lie installed packages.
_INSTALLED = lazily(r".*/(?:site|dist)-packages/(.+)")
#: A file of the engine, installed or of a checkout; SGLang's server lies in a folder of its own.
_ENGINE = lazily(r"(?:.*/)?(?:vllm|sglang|sgl)/(?:srt/)?(.+)")
_PACKAGE = lazily(r"(?:vllm|sglang)/(?:srt/)?(.+)")


@lru_cache(maxsize=256)
def raised(text: str) -> dict[str, str]:
    """Return ``raised_in`` and ``raised_by``: "folder/file.py:function" of the engine, and of an installed library.

    Paths begin below the package, or below the folder of packages; "" for what the text does not show.
    The frames nearest to the exception stand last in the excerpt of an event (``evidence.events.line_first``).
    """
    found = dict.fromkeys(PLACES, "")
    if 'File "' not in text:
        return found
    frames = [(hit[1].replace("\\", "/"), hit[2]) for hit in _FRAME.finditer(text)]
    for path, function in reversed(frames):
        installed = _INSTALLED.fullmatch(path)
        engine = _PACKAGE.fullmatch(installed[1]) if installed else _ENGINE.fullmatch(path)
        if engine:
            found["raised_in"] = f"{engine[1]}:{function}"
            break
        if installed and not found["raised_by"]:
            found["raised_by"] = f"{installed[1]}:{function}"
    return found
