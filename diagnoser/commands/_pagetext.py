"""Prints pages of rules and names for a terminal or as Markdown, under the headings that runbooks use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from diagnoser.language import ENGLISH, Say, phrase
from diagnoser.reports import layout
from diagnoser.reports.safe import code, fence, line, markdown
from diagnoser.values import dataclass, field

_MESSAGES_SHOWN = 4
_LOOKED_FOR = phrase("Messages that it looks for:")


@dataclass(slots=True)
class Section:
    """A heading, then prose, then named conditions, then items, then log messages."""

    heading: str
    prose: list[str] = field(default_factory=list)
    items: list[tuple[str, str]] = field(default_factory=list)  # what is code, what is said about it
    messages: list[str] = field(default_factory=list)
    conditions: list[tuple[str, str]] = field(default_factory=list)


def rule_text(page: dict[str, Any], width: int, say: Say = ENGLISH) -> str:
    """Return a rule's page for a terminal."""
    facts = " · ".join([say(page["stage"]), _severity(page, say), say(page["status"])])
    return _text(f"{page['id']}: {page['title']}", facts, list(_sections(page, say)), width, say)


def rule_markdown(page: dict[str, Any], say: Say = ENGLISH) -> str:
    """Return a rule's page for the documentation; `runbook_url` of an alert may point at it."""
    facts = " · ".join([code(page["id"]), markdown(_severity(page, say)), markdown(say(page["status"]))])
    return _markdown(page["title"], facts, list(_sections(page, say)), say)


def field_text(pages: list[dict[str, Any]], width: int, say: Say = ENGLISH) -> str:
    """Return what a name means, for a terminal."""
    return "\n".join(
        _text(f"{page['name']}: {page['title']}", _facts(page, say), [_printed(page, say)], width, say)
        for page in pages
    )


def field_markdown(pages: list[dict[str, Any]], say: Say = ENGLISH) -> str:
    """Return what a name means, as Markdown."""
    return "\n".join(
        _markdown(page["title"], f"{code(page['name'])} · {_facts(page, say)}", [_printed(page, say)], say)
        for page in pages
    )


def _facts(page: dict[str, Any], say: Say) -> str:
    return " · ".join(part for part in (say(page["kind"]), page["unit"], say(page["means"])) if part)


def _printed(page: dict[str, Any], say: Say) -> Section:
    used = ", ".join(page["used_by"])
    return Section(
        say("Printed as") if page["kind"] in ("sample", "event") else say("Set by"),
        [] if page["printed"] else [say("nothing prints it directly: messages of the log set it")],
        [(text, engine) for engine, texts in page["printed"].items() for text in texts],
        [say("used by: {rules}").format(rules=used)] if used else [],
    )


def _severity(page: dict[str, Any], say: Say) -> str:
    told = say("{level} if {condition}")
    parts = [
        told.format(level=say(one["level"]), condition=one["when"]) if one["when"] else say(one["level"])
        for one in page["severity"]
    ]
    out = parts[0]
    for part in parts[1:]:
        out = say("{first}, else {second}").format(first=out, second=part)
    return out


def _sections(page: dict[str, Any], say: Say) -> Iterator[Section]:
    diagnosis = page["diagnosis"]
    yield Section(say("Meaning"), [page["meaning"]])
    impact = [page["impact"]] if page["impact"] else []
    if page["explains"]:
        impact.append(say("Its consequences: {rules}.").format(rules=", ".join(page["explains"])))
    if impact:
        yield Section(say("Impact"), impact)
    prose = [say("Reported when: {condition}").format(condition=diagnosis["when"])]
    if page["unless"]:
        told = say("Not reported when one of these explains it better: {rules}.")
        prose.append(told.format(rules=", ".join(page["unless"])))
    if diagnosis["supports"]:
        prose.append(say("Surer when: {conditions}.").format(conditions=say("; ").join(diagnosis["supports"])))
    if diagnosis["needs"]:
        prose.append(say("Needs: {input}").format(input=diagnosis["needs"]))
    conditions = [(one["name"], one["condition"]) for one in diagnosis["symptoms"]]
    yield Section(say("Diagnosis"), prose, [], list(_messages(diagnosis["messages"], say)), conditions)
    if page["mitigation"]:
        order = say("In this order, one change at a time, measured after each.")
        lead = [order] if len(page["mitigation"]) > 1 else []
        yield Section(say("Mitigation"), lead, [_remedy(one, say) for one in page["mitigation"]])
    yield Section(say("When this is wrong"), [page["false_positives"]])
    yield Section(say("Verify"), [page["verify"]])
    yield Section(say("Sources"), [], [("", source) for source in page["source"]])


def _messages(messages: list[dict[str, str]], say: Say) -> Iterator[str]:
    """Yield the messages looked for, the first wordings of each event and engine."""
    shown: dict[tuple[str, str], int] = {}
    for one in messages:
        key = (one["event"], one["engine"])
        shown[key] = shown.get(key, 0) + 1
        if shown[key] <= _MESSAGES_SHOWN:
            yield f"{one['engine']}{_versions(one['versions'], say)}: {one['text']}"
    hidden = sum(max(0, count - _MESSAGES_SHOWN) for count in shown.values())
    if hidden:
        yield say("... and {count} more wordings of these messages").format(count=hidden)


def _versions(text: str, say: Say) -> str:
    """Return a range of versions in words; a range of one version is that version."""
    first, dots, last = text.partition("..")
    if not dots:
        return f" ({text})" if text else ""
    told = "{first}" if first == last else say("{first} to {last}") if last else say("from {first}")
    return f" ({told.format(first=first, last=last)})"


def _remedy(one: dict[str, Any], say: Say) -> tuple[str, str]:
    """Return the flags of a remedy, and what is to be done with them."""
    if one["action"]:
        names = ""
        said = [one["action"]]
    else:
        flags = [f"{_either(names, say)} ({engine})" for engine, names in one["flags"].items()]
        names = ", ".join(flags + [f"{name} ({engine})" for engine, name in one["env"].items()])
        change = say("set to {value}").format(value=one["to"]) if one["to"] else say(one["by"] or "")
        said = [change] if change else []
    said += [say("if {condition}").format(condition=one["if"])] if one["if"] else []
    said += [one["why"]] if one["why"] else []
    said += [say("costs: {what}").format(what=one["costs"])] if one["costs"] else []
    if one["engines"] and one["action"]:
        said.append(f"({', '.join(one['engines'])})")
    return names, say("; ").join(said)


def _either(names: list[str], say: Say) -> str:
    told = names[0]
    for name in names[1:]:
        told = say("{one} or {other}").format(one=told, other=name)
    return told


def _text(title: str, facts: str, sections: list[Section], width: int, say: Say) -> str:
    out = [*layout.wrap(line(title), width), *layout.wrap(line(facts), width)]
    for section in sections:
        out += ["", section.heading]
        for text in section.prose:
            out += [f"  {piece}" for piece in layout.wrap(line(text), width - 2)]
        for name, said in section.conditions:
            pieces = layout.wrap(line(f"{name}: {said}"), width - 6)
            out += [("      " if i else "  - ") + piece for i, piece in enumerate(pieces)]
        for name, said in section.items:
            out += _item(line(name), line(said), width)
        if section.conditions and section.messages:
            out.append(f"  {say(_LOOKED_FOR)}")
        for text in section.messages:
            pieces = layout.wrap(line(text), width - 6)
            out += [("    " if i == 0 else "      ") + piece for i, piece in enumerate(pieces)]
    return "\n".join(piece.rstrip() for piece in out) + "\n"


def _item(name: str, said: str, width: int) -> list[str]:
    """One item: what is code and what is said about it share a line where they fit."""
    if not name or not said:
        rest: list[str] = []
        first = layout.wrap(name or said, width - 4)
    elif layout.cells(f"{name}  ({said})") <= width - 4 and len(said) <= 40:
        first, rest = [f"{name}  ({said})"], []
    else:
        first, rest = layout.wrap(name, width - 4), layout.wrap(said, width - 6)
    return [("    " if i else "  - ") + piece for i, piece in enumerate(first)] + [f"      {piece}" for piece in rest]


def _markdown(title: str, facts: str, sections: list[Section], say: Say) -> str:
    parts = [f"# {markdown(title)}", facts]
    for section in sections:
        parts.append(f"## {section.heading}")
        parts += [markdown(text) for text in section.prose]
        items = []
        for name, said in section.items:
            spoken = markdown(said)
            items.append(f"- {code(name)}: {spoken}" if name and spoken else f"- {code(name) if name else spoken}")
        if items:
            parts.append("\n".join(items))
        if section.conditions:
            parts.append("\n".join(f"- {code(name)}: {code(said)}" for name, said in section.conditions))
        if section.conditions and section.messages:
            parts.append(say(_LOOKED_FOR))
        if section.messages:
            parts.append(fence(section.messages))
    return "\n\n".join(parts) + "\n"
