"""Makes what krew installs, of a wheel: an archive of launcher, wheel and licence, and the manifest that names it.

    python -m build && python tools/krew.py dist/diagnoser-*.whl --url https://where.the/release/lies --out dist

The same wheel gives the same bytes. A wheel is one file for all platforms; what it depends on has parts in machine code
and is fetched on the first run by uv or pipx: that is why the archive holds a launcher and no binary.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import re
import tarfile
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent
NAME = "diagnose-llm"
LAUNCHER = "kubectl-diagnose_llm"


def archive(wheel: Path) -> bytes:
    """Return the archive: sorted, without times and owners."""
    members = {
        LAUNCHER: (ROOT / "tools" / LAUNCHER, 0o755),
        wheel.name: (wheel, 0o644),
        "LICENSE": (ROOT / "LICENSE", 0o644),
    }
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as packed:
        for name, (path, mode) in sorted(members.items()):
            info = tarfile.TarInfo(name)
            data = path.read_bytes()
            info.size, info.mode = len(data), mode
            packed.addfile(info, io.BytesIO(data))
    return gzip.compress(raw.getvalue(), mtime=0)


def manifest(version: str, uri: str, content: bytes) -> str:
    """Return the manifest as krew's index wants it."""
    platform = {
        "selector": {"matchExpressions": [{"key": "os", "operator": "In", "values": ["linux", "darwin"]}]},
        "uri": uri,
        "sha256": hashlib.sha256(content).hexdigest(),
        "bin": LAUNCHER,
    }
    plugin = {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": NAME},
        "spec": {
            "version": f"v{version}",
            "homepage": "https://github.com/diagnoser/diagnoser",
            "shortDescription": "Find out why a vLLM or SGLang server is slow or down",
            "description": "Collects logs, pods, events and metrics of an LLM inference server and prints\n"
            "ranked findings: root cause first, the lines that prove it, and the flags\n"
            "that fix it. It only reads, and works from rules, without a model.\n",
            "caveats": "Needs Python 3.11 or newer, and uv or pipx; or `diagnose` itself on PATH.\n"
            "Rights: get and list of pods, get of pods/log; for more also list of events\n"
            "and get of pods/proxy (or create of pods/portforward).\n",
            "platforms": [platform],
        },
    }
    return yaml.safe_dump(plugin, sort_keys=False, width=100)


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--url", required=True, help="the folder from which the archive will be fetched")
    parser.add_argument("--out", type=Path, default=Path("dist"))
    args = parser.parse_args()
    found = re.fullmatch(r"diagnoser-(\d+\.\d+\.\d+)-py3-none-any\.whl", args.wheel.name)
    if found is None or not args.wheel.is_file():
        parser.error(f"{args.wheel}: is no wheel of a released diagnoser")
    content = archive(args.wheel)
    name = f"{NAME}-v{found[1]}.tar.gz"
    (args.out / name).write_bytes(content)
    (args.out / f"{NAME}.yaml").write_text(
        manifest(found[1], f"{args.url.rstrip('/')}/{name}", content), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
