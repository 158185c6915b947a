"""Hundreds of simulated servers and what is found in them: ``python -m simulated.sweep [ROUNDS] [SEED]`` in tests/."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

from simulated.engines import simulate
from simulated.judged import INPUTS, diagnose
from simulated.scenarios import scenes
from simulated.truth import causes, measure, untold


def main(rounds: int, seed: int, only: str, verbose: bool, given: tuple[str, ...] = INPUTS) -> None:
    random = Random(seed)
    table: Counter[tuple[str, str, str]] = Counter()
    for turn in range(rounds):
        for name, server, loads in scenes(random):
            draw = random.randrange(1 << 30)
            if only and only not in f"{name} {server.engine}-{server.version}":
                continue
            record = simulate(server, loads, draw)
            truth = measure(record)
            wanted = causes(record, truth)
            if wanted is None:
                table["", "grey", name.rsplit("-", 1)[0]] += 1
                continue
            for inputs in given:
                with tempfile.TemporaryDirectory() as folder:
                    session = diagnose(record, Path(folder), inputs)
                found = [one.id for one in session.report.findings if one.severity != "info"]
                first = found[0] if found else "-"
                right = (first == "-" and (not wanted or untold(record, truth, wanted, inputs))) or first in wanted
                kind = "right" if right else "false alarm" if not wanted else "silent" if first == "-" else "wrong root"
                table[inputs, kind, ""] += 1
                if not right or verbose:
                    print(
                        f"{kind:11} {inputs:8} {server.engine}-{server.version} {name} round {turn}:",
                        f"{found} wanted {wanted}",
                        flush=True,
                    )
                    print(f"            {truth}")
    for inputs in INPUTS:
        counts = {kind: table[inputs, kind, ""] for kind in ("right", "wrong root", "silent", "false alarm")}
        print(f"{inputs:8} {counts}")
    print("between:", {key[2]: many for key, many in table.items() if key[1] == "grey"})


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word.isdigit()]
    texts = [word for word in sys.argv[1:] if not word.isdigit() and word != "-v"]
    main(
        int(words[0]) if words else 1,
        int(words[1]) if len(words) > 1 else 1,
        texts[0] if texts else "",
        "-v" in sys.argv,
    )
