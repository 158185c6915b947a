"""The tools as the protocol shows them: names, arguments and their descriptions, from which the SDK makes schemas.

Without ``from __future__ import annotations``: the SDK reads the annotations of methods as they are.
"""

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import Field

from diagnoser.commands import _errors
from diagnoser.commands._agent import MESSAGE, Agent, cut

_Paths = Annotated[list[str], Field(description="files, folders or archives, all of one incident")]
_Side = Annotated[list[str], Field(description="inputs of one side, or saved JSON reports")]
_Given = Annotated[str | None, Field(description="only where the input does not show it")]
_Form = Annotated[Literal["digest", "json"], Field(description="digest: to be read; json: all figures, at most 60 kB")]
_Since = Annotated[str | None, Field(description="leave out what is older: '15m' before the end, or a time of the log")]
_Until = Annotated[str | None, Field(description="leave out what is younger")]
_Slo = Annotated[str | None, Field(description="objectives, such as ttft=500ms,tpot=50ms")]
_Name = Annotated[
    str, Field(description="id of a finding such as memory.kv_cache_exhausted, or a name such as kv.usage")
]


class Tools:
    """One method for each tool; its docstring is what the agent reads. ``failure`` makes the SDK's error of a text."""

    def __init__(self, agent: Agent, failure: Callable[[str], Exception]) -> None:
        self._agent, self._failure = agent, failure

    def diagnose(
        self,
        paths: _Paths,
        format: _Form = "digest",  # noqa: A002 - the argument's name for agents
        since: _Since = None,
        until: _Until = None,
        engine: _Given = None,
        engine_version: _Given = None,
        gpu: _Given = None,
        slo: _Slo = None,
    ) -> str:
        """Ranked findings of one incident: the root cause first, the lines that prove it, the flags that fix it."""
        asked = {
            "since": since,
            "until": until,
            "engine": engine,
            "engine_version": engine_version,
            "gpu": gpu,
            "slo": slo,
        }
        return self._answer(lambda: self._agent.diagnose(paths, format, **asked))

    def explain(self, name: _Name) -> str:
        """Say what a finding or a name means, when it is wrong, and what mends it."""
        return self._answer(lambda: self._agent.explain(name))

    def compare(self, before: _Side, after: _Side) -> str:
        """Say whether the second side is better or worse, by which figure, and whether one change explains it."""
        return self._answer(lambda: self._agent.compare(before, after))

    def _answer(self, ask: Callable[[], str]) -> str:
        try:
            return ask()
        except Exception as error:
            if not _errors.expected(error):
                raise
            raise self._failure(cut(_errors.message(error).removeprefix("diagnose: error: "), MESSAGE)) from None
