"""What became of a flag: why a version refuses it and which one to use instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diagnoser.knowledge.records import Flag, Spelled
from diagnoser.knowledge.words import nearest
from diagnoser.language import ENGLISH, Say, phrase

if TYPE_CHECKING:
    from diagnoser.knowledge.catalog import Catalog

#: Engine to its name with an article before it.
NAMES = {
    "vllm": phrase("a vLLM"),
    "sglang": phrase("an SGLang"),
    "sglang-router": phrase("an SGLang router"),
    "vllm-router": phrase("a vLLM router"),
}


#: Engines whose command line takes a flag in its own spelling only; vLLM's reads underscores as hyphens.
HYPHENS_ONLY = ("sglang", "sglang-router")


def owners(catalog: Catalog, name: str) -> list[str]:
    """Return the engines that have a flag of this spelling in some version."""
    return [engine for engine in catalog.engines() if catalog.spelled(engine, name)]


def nearest_flag(catalog: Catalog, engine: str, name: str, version: str | None) -> str | None:
    """Return the counterpart of another engine's flag (by the knobs), else the spelling most alike that exists.

    With a version, only flags that it accepts.
    """
    twin = counterpart(catalog, engine, name, version)
    if twin:
        return twin
    flags = (flag for flag in catalog.flags(engine) if flag.startswith("--"))
    return nearest(
        catalog.key(engine, name), [flag for flag in flags if catalog.has_flag(engine, flag, version) is not False], 0.7
    )


def counterpart(catalog: Catalog, engine: str, name: str, version: str | None) -> str | None:
    """Return this engine's flag for the knob that ``name`` turns on another engine."""
    for other in owners(catalog, name):
        found = catalog.spelled(other, name)
        knob = catalog.vocabulary().knob_of(other, found[0].name) if found and other != engine else None
        spelling = catalog.spelling(engine, knob.flags.get(engine, ()), version) if knob else None
        if spelling:
            return spelling.flag
    return None


def flag_story(catalog: Catalog, engine: str, name: str, version: str | None, say: Say = ENGLISH) -> str:
    """Say what is the matter with a flag at a version (None: not known), without naming the flag itself.

    "" when the version accepts it and nothing speaks against it; otherwise such as "removed after 0.9.2, use --x",
    "comes with 0.11.1", "is a vLLM flag; SGLang's is --max-running-requests", "is written --x-y",
    "never existed; nearest is --x".
    """
    found = catalog.spelled(engine, name)
    if found is None:
        short_for = catalog.flag(engine, name)
        if short_for:
            return flag_story(catalog, engine, short_for.name, version, say)
        return _foreign(catalog, engine, name, version, say)
    flag, spelled = found
    if engine in HYPHENS_ONLY and spelled.name != name and spelled.name == name.replace("_", "-"):
        told = flag_story(catalog, engine, spelled.name, version, say) if version else ""
        return "; ".join(part for part in (say("is written {flag}").format(flag=spelled.name), told) if part)
    versions = catalog.version_list(engine)
    position = versions.position(version) if versions and version else None
    if versions is None:
        return ""
    if catalog.has_flag(engine, name, version):
        deprecated = flag.deprecated_in and (
            position is None or position.low >= versions.first_index(flag.deprecated_in)
        )
        told = say("deprecated since {version}").format(version=flag.deprecated_in)
        return told + _instead(flag, spelled, say) if deprecated else ""
    comes = say("comes with {version}").format(version=spelled.first)
    removed = say("removed after {version}").format(version=spelled.last) + _instead(flag, spelled, say)
    if position and position.low < versions.first_index(spelled.first):
        return comes
    if position and spelled.last and position.high > versions.last_index(spelled.last):
        return removed
    if position:
        return say("is missing in {version} (exists before and after)").format(version=version)
    parts = [] if versions.first_index(spelled.first) == 0 else [comes]
    if spelled.last:
        parts.append(removed)
    return "; ".join(parts)


def _instead(flag: Flag, spelled: Spelled, say: Say) -> str:
    if flag.replaced_by.startswith("none"):
        return say(", no successor") + flag.replaced_by[4:]
    if flag.replaced_by:
        return say(", use {flag}").format(flag=flag.replaced_by)
    # An alias that went while the flag stayed.
    gone = spelled.last != flag.last and spelled.name != flag.name
    return say(", use {flag}").format(flag=flag.name) if gone else ""


def _foreign(catalog: Catalog, engine: str, name: str, version: str | None, say: Say) -> str:
    """Tell whose flag it is, or that it is nobody's."""
    others = owners(catalog, name)
    ours = NAMES.get(engine, f"the {engine}").split(" ", 1)[1]
    if others:
        owner = say("is {engine} flag").format(engine=say(NAMES.get(others[0], others[0])))
        if not catalog.version_list(engine):
            return owner
        twin = counterpart(catalog, engine, name, version)
        if twin:
            return say("{owner}; {engine}'s is {flag}").format(owner=owner, engine=ours, flag=twin)
        return say("{owner}; {engine} has none of that name").format(owner=owner, engine=ours)
    if not catalog.version_list(engine):
        return ""
    close = nearest_flag(catalog, engine, name, version)
    return say("never existed; nearest is {flag}").format(flag=close) if close else say("never existed")
