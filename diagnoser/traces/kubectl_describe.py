"""Pages of ``kubectl describe pod``: one pod or several, one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterator

from diagnoser.language import Sentence
from diagnoser.model import Problem
from diagnoser.observations import Observation
from diagnoser.sources import Source
from diagnoser.traces._described import Described, Page
from diagnoser.traces._kube_events import Happening, tell_event
from diagnoser.traces._kube_words import message_of, name_of
from diagnoser.traces._pod import other_containers, pods, tell
from diagnoser.traces.base import Wanted

NAME = "kubectl-describe"
ORDER = 21
KINDS = ("kubectl",)
SAMPLES = [
    (
        "Name:             llm-0\nNamespace:        prod\nContainers:\n  vllm:\n"
        "    Image:          vllm/vllm-openai:v0.9.2\n    State:          Waiting\n"
        "      Reason:       CrashLoopBackOff\n    Last State:     Terminated\n      Reason:       OOMKilled\n"
        "      Exit Code:    137\n    Ready:          False\n    Restart Count:  7\n",
        9,
    ),
]

_BEGINS = re.compile(r"Name:[ \t]+\S")
_MOST_PAGES = 2_000


def recognise(head: str) -> bool:
    """Tell a described pod from other things that kubectl describes."""
    return head.lstrip().startswith("Name:") and re.search(r"(?m)^(?:Init )?Containers:", head) is not None


def read(source: Source, wanted: Wanted) -> Iterator[Observation]:
    """Yield what every described pod says, its events included."""
    pages: list[Page] = []
    for _, number, raw in source.raw_lines():
        line = raw[:65_536].decode("utf-8", "replace").rstrip("\r").expandtabs(8)
        if _BEGINS.match(line) or not pages:
            if len(pages) >= _MOST_PAGES:
                yield Problem(
                    source.name,
                    number,
                    Sentence("more than {most} pods; the rest was passed over", most=_MOST_PAGES),
                )
                break
            pages.append(Page(number))
        pages[-1].take(number, line)
    found = [page.described() for page in pages]
    events = {id(one.thing): one for one in found}
    for thing, server in pods([one.thing for one in found]):
        others = other_containers(thing, server)
        yield from tell(thing, server, source.name).said
        for happening in _happenings(events[id(thing)]):
            said = tell_event(happening, source.name, others)
            yield from said.said if said is not None else ()


def _happenings(one: Described) -> Iterator[Happening]:
    name = name_of(one.thing.get("metadata", "name"))
    for type_, reason, times, message, line in one.events:
        yield Happening("Pod", name, "", type_, reason, message_of(message), None, times, line)
