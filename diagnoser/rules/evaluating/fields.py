"""Expressions over the fields of one message: the ``sets`` of an event, evaluated without a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diagnoser.knowledge.vocabulary import Vocabulary
from diagnoser.model import Run
from diagnoser.rules.evaluating.evaluate import Evaluator
from diagnoser.rules.evaluating.value import Value
from diagnoser.rules.model import Node


def evaluate_fields(node: Node, fields: Mapping[str, Any], run: Run | None = None) -> Value:
    """Return the value of a checked ``sets`` expression, UNKNOWN when a field it needs is not there.

    ``run`` gives facts already known; without it they are unknown.
    """
    evaluator = Evaluator(run or Run(0, ""), {}, Vocabulary({}, {}, {}))
    return evaluator.with_fields(node, fields)
