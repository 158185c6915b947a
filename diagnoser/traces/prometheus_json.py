"""Saved answers of a Prometheus server: JSON of ``query_range`` and ``query``, one answer or several in a file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from diagnoser.language import Sentence
from diagnoser.model import Problem
from diagnoser.observations import Observation
from diagnoser.sources import Source
from diagnoser.traces._matrix import Matrix, documents, results
from diagnoser.traces.base import Wanted

NAME = "prometheus-json"
ORDER = 20
KINDS = ("json",)
SAMPLES = [
    (
        '{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"vllm:num_requests_running",'
        '"instance":"a:8000"},"values":[[1798538400,"3"],[1798538415,"4"]]}]}}\n',
        2,
    ),
    (
        '{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"sglang:token_usage",'
        '"pod":"llm-0"},"value":[1798538400.5,"0.5"]}]}}\n'
        '{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"sglang:num_queue_reqs",'
        '"pod":"llm-1"},"value":[1798538400.5,"0"]}]}}\n',
        2,
    ),
    (
        '[\n  {\n    "metric": {\n      "__name__": "vllm:num_requests_waiting"\n    },\n'
        '    "values": [\n      [\n        1798538400,\n        "3"\n      ]\n    ]\n  }\n]\n',
        1,
    ),
]

_ANSWER = re.compile(r'"resultType"\s*:\s*"(?:matrix|vector|scalar|string)"')
_SERIES = re.compile(r'\s*\[\s*\{\s*"metric"\s*:\s*\{')
_ERROR = re.compile(r'\s*\{\s*"status"\s*:\s*"error"\s*,\s*"errorType"\s*:')

#: Kinds of faulty series that are told.
TOLD = 5


def recognise(head: str) -> bool:
    """Tell an answer of the HTTP API (an error too), or the bare list of series that promtool prints."""
    return bool(_ANSWER.search(head) or _SERIES.match(head) or _ERROR.match(head))


def read(source: Source, wanted: Wanted) -> Iterator[Observation]:
    """Yield one ``Page`` for each server and moment, and a ``Problem`` for what cannot be used."""
    matrix = Matrix(wanted)
    problems: list[str] = []
    text = source.content().decode("utf-8", "replace")
    try:
        for value, lines in documents(text):
            for result, why in results(value):
                problems += [why] if why else []
                matrix.add(result, lines)
                lines = lines[len(result) if isinstance(result, list) else 0 :]
    except ValueError as error:
        problems.append(Sentence("the JSON ends or breaks off early: {error}", error=error))
    yield from matrix.pages(source.name)
    problems += [Sentence("{count} {of_them}", count=count, of_them=text) for text, count in matrix.faults.items()]
    if not matrix.samples and matrix.others:
        problems.append(Sentence("{others} series, none of a metric that rules know", others=matrix.others))
    yield from (Problem(source.name, None, text) for text in problems[:TOLD])
