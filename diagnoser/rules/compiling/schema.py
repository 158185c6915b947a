"""The shape of rule files and event files. Used only when YAML is read; the compiled cache needs none of it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints

from diagnoser.rules.compiling.schema_examples import ExamplesModel
from diagnoser.rules.compiling.schema_parts import Severity, Strict, Text, Texts, listed

Engine = Literal["vllm", "sglang", "vllm-router", "sglang-router"]


def _spelt(value: Any) -> Any:
    """Make text again of a number or a word that YAML has typed: the expression parser reads text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, int | float) else value


def _severities(value: Any) -> Any:
    return {value: "true"} if isinstance(value, str) else value


def _worded(value: Any) -> Any:
    """Let a bare template text stand for a template without further words."""
    return [{"text": item} if isinstance(item, str) else item for item in value] if isinstance(value, list) else value


Expr = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1),
    BeforeValidator(_spelt, json_schema_input_type=str | int | float | bool),
]
InputKind = Literal["log", "statistics", "metrics", "gpu", "bench", "profile"]
Engines = Annotated[list[Engine], BeforeValidator(listed, json_schema_input_type=Engine | list[Engine])]
Id = Annotated[str, StringConstraints(pattern=r"^[\w-]+(\.[\w-]+)+$")]
EventName = Annotated[str, StringConstraints(pattern=r"^[a-z]\w*(\.[a-z]\w*)*$")]
SymptomName = Annotated[str, StringConstraints(pattern=r"^[a-z]\w*$")]


class TemplateText(Strict):
    """One spelling of a message, or every wording of a message of the catalogue."""

    text: Annotated[str, StringConstraints(min_length=1)] | None = Field(
        None, description="The message; {name}, {name:int|float|word|rest|quoted|gib}, {a|b}, [...]?, {{ and }}."
    )
    versions: str = Field("", description="Versions that print it, such as '<0.4.7'. Documentation only.")
    message: Text | None = Field(None, description="Id of a message of the catalogue: all its wordings.")
    match: Texts = Field([], description="Only the wordings that hold this text, or one of these.")
    drop: Texts = Field([], alias="not", description="Without the wordings that hold this text, or one of these.")


Templates = Annotated[
    list[TemplateText],
    BeforeValidator(
        lambda value: _worded(listed(value)),
        json_schema_input_type=str | TemplateText | list[str | TemplateText],
    ),
    Field(min_length=1),
]


class FactSource(Strict):
    """Where an event's fact comes from: a field as it is, or an expression over the fields."""

    field: str | None = Field(None, description="Name of a field.")
    value: Expr | None = Field(None, description="Expression over the event's fields.")


Sets = dict[
    str,
    Annotated[
        FactSource,
        BeforeValidator(
            lambda value: {"field": value} if isinstance(value, str) else value, json_schema_input_type=str | FactSource
        ),
    ],
]


class EventModel(Strict):
    """A message, in every spelling."""

    title: str = Field("", description="What the message says, for people; default: the event's name.")
    vllm: Templates | None = Field(None, description="Templates of vLLM's messages.")
    sglang: Templates | None = Field(None, description="Templates of SGLang's messages.")
    vllm_router: Templates | None = Field(None, alias="vllm-router", description="Templates of vLLM's router.")
    sglang_router: Templates | None = Field(None, alias="sglang-router", description="Templates of SGLang's router.")
    kubernetes: Templates | None = Field(None, description="Templates of what readers of Kubernetes' objects say.")
    any: Templates | None = Field(None, description="Templates of a library or the system, whatever the engine is.")
    source: str = Field("", description="Who prints it; needed for `any` templates.")
    where: Literal["message", "traceback", "stats", "access", "everything"] = Field(
        "message", alias="in", description="Where to look; traceback means exception lines too."
    )
    level: Literal["", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = Field(
        "", description="At least this level; records without a level pass."
    )
    role: Literal[
        "root", "wrapper", "consequence", "notice", "start", "ready", "stop", "fatal", "starting", "serving"
    ] = Field(
        "notice",
        description="wrapper and consequence never count as an unrecognised error; start, ready, stop and fatal are "
        "moments of the server's life; starting and serving are frames that tell in which part of it an error came.",
    )
    generic: bool = Field(False, description="Any error looks like that: it names no cause by itself.")
    phase: Literal["startup", "serving", "any"] = Field("any", description="When a server can print it at all.")
    fields: dict[str, Literal["text", "int", "float", "word", "rest", "quoted", "gib"]] = Field(
        {}, description="Types of the catalogue's placeholders, where {x:.2f} does not already tell."
    )
    sets: Sets = Field({}, description="Facts taken from fields: fact: field, or {value: EXPR}.")

    def templates(self) -> list[tuple[str, int, TemplateText]]:
        """Every template with its engine and its place in that engine's list."""
        names = ("vllm", "sglang", "vllm-router", "sglang-router", "kubernetes", "any")
        listed = {name: getattr(self, name.replace("-", "_")) for name in names}
        return [(engine, i, text) for engine, texts in listed.items() for i, text in enumerate(texts or ())]


class RemedyModel(Strict):
    """One thing to change: exactly one of knob, flag, env and action."""

    knob: Text | None = Field(None, description="A name of knobs.yaml; becomes the flag of the version at hand.")
    flag: dict[Engine, Text] | None = Field(None, description="A flag without a knob, by engine.")
    env: dict[Engine, Text] | None = Field(None, description="An environment variable, by engine.")
    action: Text | None = Field(None, description="Something that is not a flag. May hold {expression:format}.")
    to: Expr | None = Field(None, description="Expression for the new value: a number, a text or true/false.")
    by: Literal["raise", "lower", "set", "remove"] | None = Field(None, description="Direction, without a value.")
    condition: Expr | None = Field(None, alias="if", description="Only proposed when this is true.")
    engine: Engines = Field([], description="Only for this engine, or these.")
    text: str = Field("", description="Why this value. May hold {expression:format}.")
    tradeoff: str = Field("", description="What it costs. May hold {expression:format}.")
    experiment: bool = Field(
        True, description="False: it cures nothing by itself (a longer limit); never the next experiment."
    )


class EventsFile(Strict):
    """Messages that several rules share: rules/events/*.yaml."""

    events: dict[EventName, EventModel] = Field(description="Event name to its templates.")


class RuleFile(Strict):
    """One cause: rules/<stage>/<cause>.yaml."""

    title: Text = Field(description="What is the matter: sentence case, no full stop.")
    stage: Literal["ingress", "scheduling", "memory", "cache", "compute", "comms", "output", "platform"] = Field(
        description="Part of the server; the folder the file lies in."
    )
    severity: Annotated[
        dict[Severity, Expr],
        BeforeValidator(_severities, json_schema_input_type=Severity | dict[Severity, Expr]),
        Field(min_length=1),
    ] = Field(description="info, warning or critical; or a map of conditions, first true wins, else info.")
    status: Literal["experimental", "stable", "deprecated"] = Field("stable", description="Promise of the rule.")
    gain: Annotated[int, Field(ge=1, le=9)] | None = Field(
        None, description="Order of expected gain: 1 KV, 2 queueing, 3 batch and decode, 4 kernels."
    )
    source: Texts = Field(description="Where the knowledge comes from: issue, documentation page, measurement.")
    events: dict[EventName, EventModel] = Field({}, description="Messages; every rule may use them.")
    symptoms: dict[SymptomName, Expr] = Field({}, description="Named conditions; names are global.")
    when: Expr = Field(description="The rule fires when this is true: symptoms, events, facts, other causes' ids.")
    unless: list[Id] = Field([], description="Causes that explain it better: then this one is not reported.")
    supports: list[Expr] = Field([], description="Each true one raises the confidence a step.")
    confidence: Literal["certain", "likely", "possible"] = Field("likely", description="Start value.")
    explains: list[Id] = Field([], description="Its consequences, shown under it.")
    meaning: Text = Field(description="What happened, in two sentences an on-call engineer understands.")
    impact: str = Field("", description="How much, how long. May hold {expression:format}.")
    false_positives: Text = Field(description="When this rule is wrong.")
    needs: str = Field("", description="What input would decide it when it is unknown.")
    asks: list[InputKind] = Field([], description="Kinds of inputs in `needs`: of one given, what lacks is told.")
    not_applicable: dict[Text, Expr] = Field({}, description="Why it does not apply, and when: then nothing is needed.")
    remedies: list[RemedyModel] = Field([], description="Ordered; one experiment at a time.")
    verify: Text = Field(description="How to see that the fix worked.")
    examples: ExamplesModel = Field(description="Small logs that must and must not fire.")


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 7) of rule files and event files together, for editors."""
    from pydantic.json_schema import models_json_schema

    _, schema = models_json_schema(
        [(RuleFile, "validation"), (EventsFile, "validation")], ref_template="#/definitions/{model}"
    )
    definitions = schema.pop("$defs")
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "diagnoser rule file",
        "anyOf": [{"$ref": "#/definitions/RuleFile"}, {"$ref": "#/definitions/EventsFile"}],
        "definitions": definitions,
    }
