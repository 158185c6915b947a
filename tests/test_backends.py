"""Both inference back ends give the same verdicts on real evidence: every sample under the whole rule base."""

from pathlib import Path

import pytest
from serverlogs import knowledge as shared

from diagnoser.api import Options, Session

SAMPLES = sorted((Path(__file__).parent.parent / "samples").glob("*/server.log"))
KNOWLEDGE = shared()


@pytest.mark.parametrize("log", SAMPLES, ids=lambda path: path.parent.name)
def test_same_causes(log):
    pytest.importorskip("durable_rules_engine", reason="durable-rules is not installed")
    plain, durable = (
        Session([log], options=Options(inference=backend), knowledge=KNOWLEDGE) for backend in ("plain", "durable")
    )
    for one, other in zip(plain.judgements, durable.judgements, strict=True):
        assert [(c.id, c.holds) for c in one.causes] == [(c.id, c.holds) for c in other.causes]
    assert plain.report.findings == durable.report.findings


def test_there_are_samples():
    assert len(SAMPLES) >= 10
