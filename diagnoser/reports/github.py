"""The report as workflow commands of GitHub Actions: findings become annotations of the job.

One step shows ten errors, ten warnings and ten notices; the rest is told in one plain line. No text of a log can begin
a command: commands begin a line (``::name``) or stand in brackets (``##[name]``) anywhere in one.
"""

from __future__ import annotations

from collections.abc import Iterator

from diagnoser.contracts.findings import Evidence, Finding, Report
from diagnoser.language import Say
from diagnoser.reports import ci
from diagnoser.reports.base import RenderOptions
from diagnoser.reports.excerpt import excerpt, stems
from diagnoser.reports.remedytext import proposal
from diagnoser.reports.safe import line, lines
from diagnoser.reports.summary import looked, recognised, verdict
from diagnoser.reports.units import plural

NAME = "github"
DESCRIPTION = "annotations of a GitHub Actions job"

#: What one step shows of each kind.
MOST = 10
_COMMANDS = {"critical": "error", "warning": "warning", "info": "notice"}
_PROOFS_SHOWN = 3
_PROOF = 200
#: Nobody reads more in an annotation.
_TEXT = 2000


def render(report: Report, options: RenderOptions) -> str:
    """Write the verdict as a plain line, then one command a finding, the worst first, then problems of inputs."""
    say = options.say
    out = [_plain(f"diagnose: {verdict(report, say)}")]
    used = dict.fromkeys((*_COMMANDS.values(),), 0)
    left = [0, 0]
    for finding in sorted(report.findings, key=_urgency):
        kind = _COMMANDS.get(finding.severity, "warning")
        used[kind] += 1
        if used[kind] <= MOST:
            out.append(_finding(kind, finding, options))
        else:
            left[0] += 1
    for name, problem in ((one.name, problem) for one in report.inputs for problem in one.problems):
        used["warning"] += 1
        if used["warning"] <= MOST:
            said = f"{line(name)}: {line(problem)}"
            place = {**_file(Evidence(name, 0, None, ""), options.folder), "title": say("not readable")}
            out.append(_command("warning", place, said))
        else:
            left[1] += 1
    if any(left):
        counts = [plural(left[0], "finding", say=say)] if left[0] else []
        counts += [plural(left[1], "problem of an input", "problems of inputs", say)] if left[1] else []
        told = say("{counts}: not shown above, {most} annotations of a kind are all that a step has")
        out.append(_plain(f"diagnose: {told.format(counts=say(', ').join(counts), most=MOST)}"))
    if report.unrecognised:
        out.append(_plain(f"diagnose: {_kinds(len(report.unrecognised), say)}"))
    if recognised(report) and (not report.findings or report.healthy):
        out.append(_plain(f"diagnose: {looked(report, say)}"))
    return "\n".join(out) + "\n"


def _kinds(count: int, say: Say) -> str:
    return plural(
        count,
        "kind of warning or error that no rule knows (diagnose --unrecognised)",
        "kinds of warnings or errors that no rule knows (diagnose --unrecognised)",
        say,
    )


def _urgency(finding: Finding) -> int:
    return -ci.LEVELS.index(finding.severity) if finding.severity in ci.LEVELS else 0


def _finding(kind: str, finding: Finding, options: RenderOptions) -> str:
    say, folder = options.say, options.folder
    texts = [text for text in [*lines(finding.impact or finding.meaning)] if text]
    if finding.explained_by:
        texts.append(say("follows from {cause}").format(cause=line(finding.explained_by)))
    texts += _proofs(finding, say)
    texts += [say.pair(say("fix"), proposal(item, say=say)) for item in finding.remedies]
    properties = _file(finding.evidence[0], folder) if finding.evidence else {}
    properties["title"] = f"{line(finding.id)}: {ci.cut(finding.title, 200)}"
    return _command(kind, properties, _bounded(texts) or line(finding.title))


def _proofs(finding: Finding, say: Say) -> Iterator[str]:
    words = stems(say.english(finding.title), finding.id, finding.impact)
    for item in finding.evidence[:_PROOFS_SHOWN]:
        where = f"{line(item.source)}:{item.line}" if item.line else line(item.source)
        yield say.pair(say("proof"), f"{where} {excerpt(item.text, words, _PROOF)}")


def _bounded(texts: list[str]) -> str:
    """Join whole lines as long as there is room: a flag is not cut."""
    kept: list[str] = []
    for text in texts:
        if sum(map(len, kept)) + len(text) <= _TEXT:
            kept.append(text)
    return "\n".join(kept)


def _file(item: Evidence, folder: str) -> dict[str, str]:
    if ci.is_address(item.source):
        return {}
    found = {"file": line(ci.path(item.source, folder))}
    return {**found, "line": str(item.line)} if item.line > 0 else found


def _command(name: str, properties: dict[str, str], message: str) -> str:
    """Return one command, escaped as the runner takes it apart."""
    said = ",".join(
        f"{key}={_data(value).replace(':', '%3A').replace(',', '%2C')}" for key, value in properties.items()
    )
    return f"::{name}{' ' if said else ''}{said}::{_data(message)}"


def _data(text: str) -> str:
    return _tame(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _tame(text: str) -> str:
    """Break what the runner would find anywhere in a line."""
    return text.replace("##[", "# #[").replace("##vso[", "# #vso[")


def _plain(text: str) -> str:
    return _tame(line(text))
