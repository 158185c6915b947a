"""A rule of YAML -> Rule: every expression checked, every name that it mentions looked up."""

from __future__ import annotations

import re
from collections.abc import Mapping

from diagnoser.rules.compiling.bench import Bench, Steps
from diagnoser.rules.compiling.examples import ExampleError, expand, seconds
from diagnoser.rules.compiling.schema import RemedyModel, RuleFile
from diagnoser.rules.compiling.schema_examples import ExampleModel
from diagnoser.rules.model import Example, Node, Remedy, Rule

#: Order of expected gain by stage, where a rule does not say (KV, queueing, batch and decode, kernels).
_GAIN = {"memory": 1, "cache": 1, "scheduling": 2, "ingress": 2, "output": 3, "compute": 3, "comms": 4, "platform": 4}

_NOTHING = Node("bool", (False,), "", "bool")

#: Names of an example's files: no folders, nothing hidden.
FILE_NAME = re.compile(r"\w[\w.-]{0,80}")


def compile_rule(bench: Bench, name: str, model: RuleFile, stage: str, symptoms: Mapping[str, Node]) -> Rule:
    """Compile one rule whose symptoms are compiled already; faults go to the bench."""
    if model.stage != stage:
        bench.fault(("stage",), f"the file lies in folder '{stage}', so its stage is '{stage}'", column=1)
    if model.title.endswith("."):
        bench.fault(("title",), "a title has no full stop at its end", column=len(model.title))
    for key, ids in (("unless", model.unless), ("explains", model.explains)):
        for index, other in enumerate(ids):
            if other == name:
                bench.fault((key, index), f"a rule cannot name itself under '{key}'", column=1)
            elif other not in bench.names.causes:
                bench.unknown((key, index), "cause", other, list(bench.names.causes))
    supports = [bench.expression(("supports", i), text, "bool") for i, text in enumerate(model.supports)]
    placeholders: dict[str, Node] = {}
    for key in ("meaning", "impact", "false_positives", "needs", "verify"):
        placeholders.update(bench.placeholders((key,), getattr(model, key)))
    remedies = [_remedy(bench, i, remedy, placeholders) for i, remedy in enumerate(model.remedies)]
    return Rule(
        id=name,
        title=model.title,
        stage=model.stage,
        status=model.status,
        severity=_severity(bench, model),
        gain=model.gain or _GAIN[model.stage],
        source=tuple(model.source),
        symptoms=tuple((symptom, symptoms[symptom]) for symptom in model.symptoms if symptom in symptoms),
        when=bench.expression(("when",), model.when, "bool") or _NOTHING,
        unless=tuple(model.unless),
        supports=tuple(node for node in supports if node is not None),
        confidence=model.confidence,
        explains=tuple(model.explains),
        meaning=model.meaning,
        impact=model.impact.strip(),
        false_positives=model.false_positives,
        needs=model.needs.strip(),
        asks=tuple(model.asks),
        not_applicable=_not_applicable(bench, model),
        remedies=tuple(remedies),
        verify=model.verify,
        fires=_examples(bench, "fires", model.examples.fires),
        silent=_examples(bench, "silent", model.examples.silent),
        place=bench.place(()),
        placeholders=tuple(placeholders.items()),
    )


def _severity(bench: Bench, model: RuleFile) -> tuple[tuple[str, Node | None], ...]:
    """Return the levels in the order written; the last one always holds."""
    levels: list[tuple[str, Node | None]] = []
    for level, text in model.severity.items():
        if text == "true":
            return (*levels, (level, None))
        levels.append((level, bench.expression(("severity", level), text, "bool")))
    return (*levels, ("info", None))


def _not_applicable(bench: Bench, model: RuleFile) -> tuple[tuple[str, Node], ...]:
    path = ("not_applicable",)
    found = [(why, bench.expression((*path, why), text, "bool")) for why, text in model.not_applicable.items()]
    return tuple((why, node) for why, node in found if node is not None)


def _remedy(bench: Bench, index: int, model: RemedyModel, placeholders: dict[str, Node]) -> Remedy:
    path: Steps = ("remedies", index)
    kinds = [key for key in ("knob", "flag", "env", "action") if getattr(model, key)]
    if len(kinds) != 1:
        bench.fault(path, f"a remedy has one of knob, flag, env and action, not {' and '.join(kinds) or 'none'}")
    if model.to is not None and model.by in ("set", "remove"):
        bench.fault((*path, "by"), "'to' says the new value; beside it 'by' can only be raise or lower, as a guard")
    elif model.action is None and model.to is None and model.by is None:
        bench.fault(path, "say what to change it to: 'to: EXPRESSION', or 'by: raise|lower|set|remove'")
    if model.knob and model.knob not in bench.names.knobs:
        bench.unknown((*path, "knob"), "knob", model.knob, list(bench.names.knobs))
    for engine, flag in (model.flag or {}).items():
        if not flag.startswith("-"):
            bench.fault((*path, "flag", engine), f"a flag starts with --, not '{flag}'", column=1)
    for key in ("text", "tradeoff", "action"):
        text = getattr(model, key)
        if text:
            placeholders.update(bench.placeholders((*path, key), text))
    return Remedy(
        knob=model.knob or "",
        flag=tuple((model.flag or {}).items()),
        env=tuple((model.env or {}).items()),
        action=model.action or "",
        to=None if model.to is None else bench.expression((*path, "to"), model.to),
        by=model.by or "",
        experiment=model.experiment,
        condition=None if model.condition is None else bench.expression((*path, "if"), model.condition, "bool"),
        engines=tuple(model.engine),
        text=model.text.strip(),
        tradeoff=model.tradeoff.strip(),
    )


def _examples(bench: Bench, key: str, models: list[ExampleModel]) -> tuple[Example, ...]:
    found = []
    for index, model in enumerate(models):
        path: Steps = ("examples", key, index)
        if model.expect and key == "silent":
            bench.fault((*path, "expect"), "nothing is expected of a rule that must stay silent")
        if model.log is None and not model.files:
            bench.fault(path, "an example needs 'log', 'files', or both")
        for name in model.files:
            if not FILE_NAME.fullmatch(name):
                bench.fault((*path, "files", name), f"'{name}' is no plain file name, such as metrics.prom")
        parts: dict[Steps, tuple[str, ...]] = {}
        steps: Steps = ()
        try:
            for steps, log in (
                (("log",), model.log or []),
                *((("files", name), log) for name, log in model.files.items()),
            ):
                parts[steps] = expand(log)
        except ExampleError as error:
            bench.fault((*path, *steps, error.index, error.key), error.text)
            continue
        expect = model.expect
        slo = _objectives(bench, path, model.slo)
        found.append(
            Example(
                name=model.name or f"{key} {index + 1}",
                lines=parts["log",],
                severity=(expect.severity or "") if expect else "",
                remedies=tuple(expect.remedies) if expect else (),
                never=tuple(expect.never) if expect else (),
                place=bench.place(path),
                files=tuple((str(steps[1]), lines) for steps, lines in parts.items() if len(steps) > 1),
                slo=slo,
            )
        )
    return tuple(found)


def _objectives(bench: Bench, path: Steps, slo: Mapping[str, str]) -> tuple[tuple[str, float], ...]:
    found = []
    for name, text in slo.items():
        if f"slo.{name}" not in bench.names.facts:
            known = [fact.removeprefix("slo.") for fact in bench.names.facts if fact.startswith("slo.")]
            bench.unknown((*path, "slo", name), "objective", name, known)
        try:
            found.append((name, seconds(text)))
        except ValueError as error:
            bench.fault((*path, "slo", name), str(error))
    return tuple(found)
