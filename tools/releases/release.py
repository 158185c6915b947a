"""One release: its archive read once, module by module, to everything that the catalogue holds."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tools.releases import archive, messages, metrics, statistics, variables
from tools.releases.flags import Flag, FlagReader
from tools.releases.messages import Text
from tools.releases.metrics import Metric
from tools.releases.python import Classes, Names, Values
from tools.releases.variables import Variable


@dataclass(frozen=True)
class Engine:
    """Where an engine's facts stand: its project, package, the modules with its flags, its names' beginnings."""

    project: str
    package: str
    flags: tuple[str, ...]
    metrics: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


ENGINES = {
    "vllm": Engine(
        "vllm",
        "vllm",
        (
            "engine/arg_utils.py",
            "entrypoints/openai/cli_args.py",
            "entrypoints/common/cli_args.py",
            "entrypoints/cli/serve.py",
            "entrypoints/openai/api_server.py",
        ),
        ("vllm:", "http_"),
        ("VLLM_",),
    ),
    "sglang": Engine(
        "sglang",
        "sglang",
        ("srt/server_args.py",),
        ("sglang:", "http_", "process_"),
        ("SGLANG_", "SGL_"),
        ("multimodal_gen/", "bench", "lang/", "eval/", "test/"),
    ),
    "sglang-router": Engine("sglang-router", "sglang_router", ("router_args.py", "launch_router.py")),
}


@dataclass
class Release:
    """What one version of one engine has."""

    engine: str
    version: str
    modules: int = 0
    flags: dict[str, Flag] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    metrics: dict[str, Metric] = field(default_factory=dict)
    metric_words: set[str] = field(default_factory=set)
    texts: list[Text] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)


def read(engine: str, version: str, path: Path) -> Release:
    """Read a release's archive. Modules that are no Python (templates, older syntax) are passed over."""
    about, made = ENGINES[engine], Release(engine, version)
    names: Names = {}
    classes = Classes()
    values = Values(names, classes)
    kept: list[tuple[str, ast.Module]] = []
    late: list[tuple[str, ast.Module]] = []
    for file, text in archive.python_files(path, about.package):
        if file.startswith(about.skipped) and about.skipped:
            continue
        tree = _parsed(text)
        if tree is None:
            continue
        made.modules += 1
        _constants(tree, names, classes)
        made.texts += messages.texts(tree, file)
        if file.endswith(about.flags):
            kept.append((file, tree))
        if "environ" in text or "getenv" in text or "Env" in text or "_env" in text:
            _variables(made, variables.variables(tree, file, values, about.variables))
        if about.metrics and any(word in text for word in about.metrics):
            made.metric_words |= metrics.named(tree, about.metrics)
            late.append((file, tree))
    for file, tree in late:
        for metric in metrics.metrics(tree, file, values, about.metrics):
            if metric.kind or metric.exposed not in made.metrics:
                made.metrics[metric.exposed] = metric
    reader = FlagReader(values)
    for _, tree in kept:
        for flag in reader.read(tree):
            made.flags.setdefault(_main(flag.names), flag)
    made.labels = statistics.labels(engine, made.texts)
    return made


def _main(names: tuple[str, ...]) -> str:
    return next((name for name in names if name.startswith("--")), names[0])


def _parsed(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _variables(made: Release, found: Iterable[Variable]) -> None:
    for one in found:
        known = made.variables.get(one.name)
        if known is None or (one.declared and not known.declared):
            made.variables[one.name] = one


def _constants(tree: ast.Module, names: Names, classes: Classes) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            classes.add(node)
    for item in tree.body:
        if isinstance(item, ast.Assign) and len(item.targets) == 1 and isinstance(item.targets[0], ast.Name):
            names.setdefault(item.targets[0].id, item.value)
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and item.value is not None:
            names.setdefault(item.target.id, item.value)
