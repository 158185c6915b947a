"""The page as a whole: templates filled, script and style put inside, and a policy that lets nothing else run."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from diagnoser.contracts.findings import Report
from diagnoser.language import ENGLISH, Say
from diagnoser.reports.base import RenderOptions
from diagnoser.reports.html import drawing, sections, view
from diagnoser.reports.safe import line

HERE = Path(__file__).parent
#: Languages with a style of their own, and how browsers call them: the same letters look otherwise in Japanese.
LANGUAGES = {"zh": "zh-CN"}
#: ``</script`` and ``<!--`` end or change a script element, and these two end a line of JavaScript.
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def render(report: Report, options: RenderOptions) -> str:
    """Fill the templates."""
    script = Markup(_read("uplot/uPlot.iife.min.js").strip()), Markup(_read("page.js").strip())
    say = options.say
    style = Markup(_read("uplot/uPlot.min.css") + _read("page.css") + _fonts(say.language))
    told = view.view(report, options.story, say)
    return (
        environment(say)
        .get_template("page.html")
        .render(
            **told,
            **sections.sections(report, options.story, say),
            language=LANGUAGES.get(say.language, say.language),
            policy=policy(script, style),
            scripts=script,
            style=style,
            licence=_read("uplot/LICENSE"),
            data=Markup(embedded(drawing.drawing(report, options.story, say))),
        )
        .rstrip()
        + "\n"
    )


def environment(say: Say = ENGLISH) -> Environment:
    """Return the templates: every value is made harmless, then escaped; a name that nobody gave is an error."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=harmless,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["say"] = say
    return made


def harmless(value: Any) -> Any:
    """Mask secrets and make control characters visible in whatever a template prints; markup of its own stays."""
    return line(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def policy(scripts: tuple[str, ...], style: str) -> str:
    """Return the Content-Security-Policy: nothing is loaded, and only these scripts and this style are run."""
    allowed = " ".join(f"'sha256-{_digest(one)}'" for one in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'sha256-{_digest(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def embedded(value: Any) -> str:
    """Return JSON that no element's end and no comment can come out of; its texts are made harmless."""
    text = json.dumps(_plain(value), separators=(",", ":"), allow_nan=False)
    return "".join(_UNSAFE.get(char, char) for char in text) if any(char in text for char in _UNSAFE) else text


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return line(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return None if value != value or abs(value) == float("inf") else int(value) if value == int(value) else value
    return value


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _fonts(language: str) -> str:
    """Return the style that a language's letters need beside the page's own; most need none."""
    return _read(f"page-{language}.css") if language in LANGUAGES else ""


def _read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")
