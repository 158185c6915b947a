"""Writes the skeleton of a rule: a file that loads and whose examples the author must fill."""

from __future__ import annotations

import re
from pathlib import Path

from diagnoser.commands._errors import CommandError
from diagnoser.rules.model import STAGES

_ID = re.compile(r"[a-z][a-z0-9_]*")
_SKELETON = """\
# yaml-language-server: $schema=../rule.schema.json
# One file, one cause. The language: docs/rule-language.md; the names: diagnose explain --list
title: {title}                     # sentence case, no full stop: what is the matter
stage: {stage}
severity: warning                  # info | warning | critical, or {{critical: EXPR, warning: EXPR}}
status: experimental               # stable once it was right on real logs
source: ["TODO: issue number, documentation page or measurement"]

# Messages as the engine prints them.
# {{name}}, {{name:int}}, {{name:float}}, {{name:word}}, {{name:rest}}; {{a|b}}; [optional]?
events:
  {cause}.seen:
    any: "TODO {stage}.{cause}: the message, {{why:rest}}"
    source: "TODO: who prints it"

# Named conditions over events, samples and facts; a name is global.
symptoms:
  {cause}_seen: count({cause}.seen) >= 1

when: {cause}_seen                 # and, or, not; other causes by their id
# unless: [stage.cause]            # that cause explains it better
# explains: [stage.cause]          # its consequences are shown under it

meaning: >-
  TODO: what happened, in two sentences that an engineer woken at night understands.
impact: "{{count({cause}.seen)}} times"
false_positives: "TODO: when this rule is wrong"

# Ordered; one experiment at a time. A knob of rules/knobs.yaml becomes the flag of the version at hand.
remedies:
  - action: "TODO: what to do"
#  - knob: running_limit
#    to: "floor(knob(running_limit) / 2)"
#    text: why this value
#    tradeoff: what it costs

verify: "TODO: how to see that it worked"

# Small logs: those that must be found, and near misses that must not. {{t}} is the running time.
examples:
  fires:
    - name: "TODO: the smallest log that shows it"
      log:
        - "INFO {{t}} [api_server.py:1] vLLM API server version 0.9.2"
        - "ERROR {{t}} [core.py:1] TODO {stage}.{cause}: the message, it happened"
  silent:
    - name: "TODO: the nearest log that is fine"
      log:
        - "INFO {{t}} [api_server.py:1] vLLM API server version 0.9.2"
        - "INFO {{t}} [core.py:1] nothing is the matter"
"""


def write(name: str, folder: str | None) -> Path:
    """Write the skeleton of ``stage.cause`` and return its path; an existing file is never touched."""
    from diagnoser.knowledge.words import hint

    stage, dot, cause = name.partition(".")
    if not dot or not _ID.fullmatch(cause):
        raise CommandError(f"rules new: '{name}' is not STAGE.CAUSE in lower case, such as memory.my_cause")
    if stage not in STAGES:
        raise CommandError(f"rules new: unknown stage '{stage}'{hint(stage, STAGES)} (one of {', '.join(STAGES)})")
    path = Path(folder or "rules") / stage / f"{cause}.yaml"
    if path.exists():
        raise CommandError(f"rules new: {path} exists; it is left as it is")
    path.parent.mkdir(parents=True, exist_ok=True)
    title = cause.replace("_", " ").capitalize()
    path.write_text(_SKELETON.format(stage=stage, cause=cause, title=title), encoding="utf-8")
    return path
