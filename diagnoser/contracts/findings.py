"""The report as data: the public JSON contract, version 1. Field order here is key order there."""

from __future__ import annotations

from typing import Any

from diagnoser.contracts.comparison import Comparison, Odd
from diagnoser.contracts.figurerows import FigureRow, Objective, Setting, SpreadRow
from diagnoser.contracts.fleetrows import Fleet
from diagnoser.values import dataclass, field

SCHEMA_VERSION = "1.5"
#: Where the pages of the rules lie, each under its stage.
PAGES = "https://github.com/diagnoser/diagnoser/blob/main/docs/rules"


@dataclass(slots=True)
class Evidence:
    """One line that proves a finding. ``time`` is ISO 8601 in the log's own clock, without a year where it has none."""

    source: str
    line: int
    time: str | None
    text: str
    labels: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Advice:
    """One change: a flag, an environment variable or an action, from what to what, at what price."""

    flag: str | None
    env: str | None
    action: str | None
    current: str | None
    proposed: str | None
    text: str
    tradeoff: str


@dataclass(slots=True)
class Finding:
    """A cause with its proof. ``role`` is "root" or "consequence"; ``runs`` are ids of the runs that show it."""

    id: str
    stage: str
    title: str
    severity: str
    confidence: str
    role: str
    explains: list[str]
    explained_by: str | None
    runs: list[int]
    meaning: str
    impact: str
    window: str
    evidence: list[Evidence]
    remedies: list[Advice]
    verify: str
    docs: str


@dataclass(slots=True)
class RunReport:
    """One server lifetime. ``facts`` maps fact name to value, ``figures`` series name to its figures.

    ``notes`` say what limits the view: why statistics are missing, how the version is known. ``settings`` maps an
    argument to what it was set to, ``spreads`` a latency to its percentiles, ``ranks`` a rank's label to the medians of
    its figures under load, where there are several. ``sources`` are the inputs that it was read from. ``scrapes``
    counts the metrics pages. ``objectives`` are those that the caller set.
    """

    id: int
    stream: str
    engine: str
    engine_version: str
    started: str | None
    ended: str | None
    end: str
    complete_start: bool
    lines: int
    stats_samples: int
    stats_interval: float | None
    facts: dict[str, Any]
    figures: dict[str, FigureRow]
    notes: list[str] = field(default_factory=list)
    settings: dict[str, Setting] = field(default_factory=dict)
    spreads: dict[str, SpreadRow] = field(default_factory=dict)
    ranks: dict[str, dict[str, float]] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    scrapes: int = 0
    objectives: list[Objective] = field(default_factory=list)


@dataclass(slots=True)
class Stage:
    """State of one of the eight stages: "cause", "suspect", "ok", "unknown" or "n/a", with the reason."""

    name: str
    state: str
    reason: str


@dataclass(slots=True)
class Check:
    """One line of the checklist D1 to D8: "pass", "fail", "unknown" or "n/a"."""

    id: str
    title: str
    state: str
    reason: str


@dataclass(slots=True)
class Unknown:
    """A symptom that could not be decided and the one further input that would decide it (several only together).

    ``reason`` says why no input would: the rule does not apply to this server, or its engine has no such figure.
    ``decides``: "either" where that input tells it whichever way it comes out, "false" where it can only rule the cause
    out, "true" where it can only show it, "" where nobody worked it out and in reports before 1.5.
    """

    symptom: str
    rule: str
    needs: str
    reason: str = ""
    decides: str = ""


@dataclass(slots=True)
class Unrecognised:
    """WARNING or ERROR lines of one shape that no rule knows."""

    template: str
    count: int
    level: str
    first: Evidence
    last_time: str | None


@dataclass(slots=True)
class Input:
    """One input and how well it could be read.

    ``scrapes`` counts the metrics pages of the server that has most in it, ``seconds`` is the time from first to last,
    None where their times are not known.
    """

    name: str
    kind: str
    envelope: str
    lines: int
    bytes: int
    problems: list[str] = field(default_factory=list)
    scrapes: int = 0
    seconds: float | None = None


@dataclass(slots=True)
class Plan:
    """One next experiment and the launch command it leads to: ``remove`` and ``add`` are command-line words."""

    finding: str
    remove: list[str]
    add: list[str]
    env: list[str]
    command: str


@dataclass(slots=True)
class Answered:
    """The alert that a report answers: its times in UTC, and which of its labels the inputs show.

    ``cause`` is the finding that the alert was made of, "" for one of your own. ``note`` says what is not certain.
    """

    names: list[str]
    status: str
    since: str | None
    until: str | None
    labels_used: list[str]
    labels_unseen: list[str]
    cause: str
    note: str


@dataclass(slots=True)
class Report:
    """Everything that `diagnose` has to say. ``healthy`` is None when too little could be seen to tell.

    ``odd`` names what stands out from its peers, ``baseline`` what differs from a run that was good (None: not asked),
    ``alert`` the alert that was asked about. ``clear`` are the ids of the rules that looked and found nothing.
    ``fleet`` tells of many servers together, None where there are few.
    """

    schema_version: str
    tool: dict[str, str]
    healthy: bool | None
    runs: list[RunReport]
    findings: list[Finding]
    stages: list[Stage]
    checklist: list[Check]
    plan: Plan | None
    unknown: list[Unknown]
    unrecognised: list[Unrecognised]
    inputs: list[Input]
    rules: dict[str, int]  # "fired", "clear", "unknown", "not_applicable"
    odd: list[Odd] = field(default_factory=list)
    baseline: Comparison | None = None
    alert: Answered | None = None
    clear: list[str] = field(default_factory=list)
    fleet: Fleet | None = None
