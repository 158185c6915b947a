"""What two servers are: which parameters somebody changed, what follows from them, and what is no part of it."""

from __future__ import annotations

from typing import Any

from diagnoser.contracts.comparison import Difference
from diagnoser.contracts.figurerows import Setting
from diagnoser.contracts.findings import RunReport

#: Where a server listens, what it is called and what it logs: no part of an experiment.
NEUTRAL = frozenset(
    {
        "api_key", "admin_api_key", "host", "port", "uds", "nccl_port", "dist_init_addr", "master_addr",
        "master_port", "node_rank", "served_model_name", "root_path", "fastapi_root_path", "ssl_keyfile",
        "ssl_certfile", "ssl_ca_certs", "seed", "random_seed", "log_level", "log_level_http", "uvicorn_log_level",
        "disable_uvicorn_access_log", "disable_log_requests", "enable_log_requests", "max_log_len",
        "log_config_file", "otlp_traces_endpoint", "disaggregation_bootstrap_port", "engine_info_bootstrap_port",
        "encoder_bootstrap_port", "download_dir", "data_parallel_address", "data_parallel_rpc_port", "chat_template",
        "instance_id", "show_time_cost", "crash_dump_folder", "model_tag", "enable_metrics", "log_requests",
        "log_requests_level", "tool_call_parser", "reasoning_parser", "enable_auto_tool_choice",
    }
)  # fmt: skip

#: Facts that are changed by changing the server, whether or not a flag that sets them was seen.
CHOSEN = (
    "model.name",
    "gpu.name",
    "pd.mode",
    "parallel.tp",
    "parallel.pp",
    "parallel.dp",
    "parallel.ep",
    "parallel.nodes",
)

#: Measured at start, or told elsewhere: never what somebody changed.
MEASURED = frozenset(
    {
        "kv.capacity_tokens", "kv.blocks", "kv.pool_tokens", "kv.max_concurrency", "kv.memory_gib",
        "memory.weights_gib", "memory.free_gib", "gpu.free_at_start_gib", "gpu.bandwidth_gbs", "gpu.memory_gib",
        "limits.running_granted", "graphs.sizes",
    }
)  # fmt: skip
_ELSEWHERE = ("boot.", "engine.version", "version.inferred")

#: A KV cache sized by what was free differs a little from start to start.
_JITTER = 0.01


def seen(run: RunReport) -> bool:
    """Whether the run's arguments are in its input: a log that begins later shows nothing of them."""
    return bool(run.settings)


def differences(before: RunReport, after: RunReport) -> list[Difference]:
    """Return every difference, parameters first. What one side does not show is no difference."""
    if before.engine != after.engine:
        return [Difference("engine", "parameter", before.engine or None, after.engine or None)]
    found: list[Difference] = []
    if before.engine_version and after.engine_version and before.engine_version != after.engine_version:
        found.append(Difference("engine version", "parameter", before.engine_version, after.engine_version))
    told: set[str] = set()
    if seen(before) and seen(after):
        names = sorted(before.settings.keys() | after.settings.keys())
        each = [(one, name) for name in names if (one := _setting(name, before, after)) is not None]
        # What was set first: a resolved argument that tells the same fact again is no second difference.
        for one, name in sorted(each, key=lambda pair: pair[0].kind != "parameter"):
            facts = {fact for run in (before, after) if name in run.settings for fact in run.settings[name].facts}
            if one.kind == "resolved" and facts and facts <= told:
                continue
            found.append(one)
            told |= facts
    found += _facts(before, after, told)
    if not any(one.kind == "parameter" for one in found):
        # Nobody is seen to have changed anything, yet the server runs with something else.
        found = [_promoted(one) for one in found]
    order = {"parameter": 0, "resolved": 1, "neutral": 2}
    return sorted(found, key=lambda one: order[one.kind])


def _setting(name: str, before: RunReport, after: RunReport) -> Difference | None:
    old, new = before.settings.get(name), after.settings.get(name)
    if old is not None and new is not None and _same(old.value, new.value):
        return None
    facts = [fact for one in (old, new) if one is not None for fact in one.facts]
    known = [fact for fact in facts if fact in before.facts and fact in after.facts]
    if known and all(_same(before.facts[fact], after.facts[fact]) for fact in known):
        return None  # spelled out on one side, the default on the other: the same server
    chosen = any(one is not None and one.state == "set" for one in (old, new))
    kind = "neutral" if name in NEUTRAL else "parameter" if chosen else "resolved"
    values = _shown(old, before, facts), _shown(new, after, facts)
    return Difference(_flag(name, old, new), kind, *values)


def _shown(setting: Setting | None, run: RunReport, facts: list[str]) -> Any:
    if setting is not None:
        return setting.value
    value = next((run.facts[fact] for fact in facts if fact in run.facts), None)
    return None if value is None else f"{value} (not set)"


def _flag(name: str, old: Setting | None, new: Setting | None) -> str:
    for one in (new, old):
        if one is not None and one.flag:
            return one.flag
    return name


def _facts(before: RunReport, after: RunReport, told: set[str]) -> list[Difference]:
    out = []
    for name in sorted(before.facts.keys() & after.facts.keys() - told):
        old, new = before.facts[name], after.facts[name]
        if name.startswith(_ELSEWHERE) or _same(old, new):
            continue
        if name in MEASURED and _close(old, new):
            continue
        out.append(Difference(name, "parameter" if name in CHOSEN else "resolved", old, new))
    return out


def _promoted(one: Difference) -> Difference:
    if one.kind == "resolved" and one.name not in MEASURED:
        return Difference(one.name, "parameter", one.before, one.after)
    return one


def _same(old: Any, new: Any) -> bool:
    return bool(old == new) or str(old) == str(new)


def _close(old: Any, new: Any) -> bool:
    numbers = isinstance(old, int | float) and isinstance(new, int | float)
    return numbers and abs(old - new) <= _JITTER * max(abs(old), abs(new))
