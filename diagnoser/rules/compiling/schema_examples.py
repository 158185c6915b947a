"""The shape of a rule's examples: small logs and other inputs, and what must come of them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from diagnoser.rules.compiling.schema_parts import Severity, Strict, Texts, listed


def _as_repeat(value: Any) -> Any:
    """Let a plain or block string of an example's log be that line, or those lines."""
    return [{"line": item} if isinstance(item, str) else item for item in value] if isinstance(value, list) else value


class LogPart(Strict):
    """A piece of an example's log."""

    line: str | None = Field(None, description="One line, or several; {t} is the running time, {i} the repetition.")
    repeat: Annotated[int, Field(ge=1, le=20_000)] = Field(1, description="How many times the line is printed.")
    every: str = Field("1s", description="Time between two repetitions.")
    wait: str | None = Field(None, description="Let this much time pass.")
    values: dict[str, list[str | int | float]] = Field({}, description="Per repetition: {x} is the list's next item.")


Log = Annotated[
    list[LogPart],
    BeforeValidator(lambda value: _as_repeat(listed(value)), json_schema_input_type=str | list[str | LogPart]),
    Field(min_length=1),
]


class Expect(Strict):
    """What must come of a firing example, beyond the finding itself."""

    severity: Severity | None = Field(None, description="Severity of the finding.")
    remedies: Texts = Field([], description="Flags, variables or words that its remedies must name.")
    never: Texts = Field([], description="Flags, variables or words that none of its remedies may name.")


class ExampleModel(Strict):
    """A small log, other inputs, or both, and what must come of them."""

    name: str = Field("", description="What it shows, in a few words.")
    log: Log | None = Field(None, description="Lines, oldest first.")
    files: dict[str, Log] = Field({}, description="Other inputs by file name, such as metrics.prom: their lines.")
    slo: dict[str, str] = Field({}, description="Objectives as --slo sets them: {ttft: 500ms}.")
    expect: Expect | None = Field(None, description="Only for fires.")


class ExamplesModel(Strict):
    """Logs on which the rule must fire, and near misses on which it must not."""

    fires: Annotated[list[ExampleModel], Field(min_length=1)] = Field(description="The rule is among the findings.")
    silent: Annotated[list[ExampleModel], Field(min_length=1)] = Field(description="Near misses: it is not.")
