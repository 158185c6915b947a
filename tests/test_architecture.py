"""The house rules that can be checked by reading the source. `python tests/test_architecture.py` renews the page."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "diagnoser"
PAGE = ROOT / "docs" / "architecture.md"
MARK = "<!-- files: written by `python tests/test_architecture.py` from the modules' first lines -->\n"

#: The only places that may know about the world outside the input.
SHELL = ("commands", "cli", "__main__")
#: Files outside the shell that may write (docs/architecture.md says why).
WRITERS = {"rules/cache.py", "knowledge/catalog_build.py", "session/reading.py"}
#: Archives are copied into a temporary file without a name.
WRITERS |= {"sources/archive.py", "sources/_containers.py"}

WORLD_MODULES = {"time", "random", "secrets", "uuid", "getpass", "locale"}
WORLD_NAMES = {"os.environ", "os.getenv", "os.getcwd", "os.getpid", "Path.home", "Path.cwd", "sys.argv"}
WORLD_NAMES |= {f"{one}.{method}" for one in ("datetime", "date") for method in ("now", "utcnow", "today")}
NETWORK = {"socket", "ssl", "urllib", "http", "ftplib", "smtplib", "requests", "httpx", "aiohttp", "webbrowser"}
NETWORK |= {"urllib3", "socketserver", "xmlrpc"}
#: Libraries that speak for themselves, each in the one module that uses it when the command line asks for it.
SPEAKERS = {"fsspec": "sources/remote.py", "distributed": "commands/_cluster.py", "dask": "commands/_cluster.py"}
#: The one module that opens a connection, to a server that the command line names.
WIRE = "scraping/fetch.py"
#: What loads it, when the command line has an address and only then.
LOADER = "commands/_live.py"
STARTERS = {"subprocess", "multiprocessing", "threading", "asyncio"}
WRITES = {"write_text", "write_bytes", "mkdir", "unlink", "rename", "touch", "rmdir"}
WRITE_NAMES = {"os.replace", "os.remove", "os.fdopen", "tempfile.mkstemp", "tempfile.SpooledTemporaryFile"}
CHANGERS = {"append", "extend", "insert", "add", "update", "setdefault", "pop", "popitem", "clear", "remove", "discard"}


@dataclass(frozen=True)
class Module:
    """One file of the package: its name under ``diagnoser/`` and its source."""

    name: str
    source: str

    @property
    def room(self) -> str:
        return self.name.partition("/")[0].removesuffix(".py")

    @functools.cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.source)

    @functools.cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    def imports(self) -> Iterator[tuple[str, int, bool]]:
        """Yield (imported dotted name, line, whether it is for type checkers only), nested imports too."""
        blocks = [node for node in self.nodes if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)]
        quiet = {id(inner) for block in blocks for inner in ast.walk(block)}
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from ((alias.name, node.lineno, id(node) in quiet) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield node.module or "", node.lineno, id(node) in quiet
                if node.module == "diagnoser":
                    yield from ((f"diagnoser.{alias.name}", node.lineno, id(node) in quiet) for alias in node.names)

    def rooms(self) -> Iterator[tuple[str, int, bool]]:
        """Yield the imports of this package by room."""
        for imported, line, quiet in self.imports():
            parts = imported.split(".")
            if parts[0] == "diagnoser" and len(parts) > 1 and parts[1] in order():
                yield parts[1], line, quiet


@functools.cache
def modules() -> list[Module]:
    return [
        Module(path.relative_to(PACKAGE).as_posix(), path.read_text(encoding="utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
    ]


@functools.cache
def order() -> dict[str, int]:
    """Return each room's place, from left to right, as the page says."""
    block = re.search(r"```order\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block
    return {one: place for place, line in enumerate(block.group(1).splitlines()) for one in line.split()}


def dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def arrow_to_the_right(module: Module) -> Iterator[str]:
    """A room knows only what stands to its left."""
    if module.name == "__init__.py":  # the public names, imported on first use
        return
    for target, line, _ in module.rooms():
        if order()[target] > order()[module.room]:
            yield f"{line}: {module.room} must not know {target}"


#: Modules that hold no idea of diagnosis: anybody may use them.
TOOLS = ("values", "patterns", "listing")


def report_that_knows_more(module: Module) -> Iterator[str]:
    """What a report shows is what the JSON says."""
    if module.room == "reports":
        for target, line, _ in module.rooms():
            if target not in (
                "reports",
                "contracts",
                "knowledge",
                "language",
                "times",
                "values",
                "patterns",
                "listing",
            ):
                yield f"{line}: a report must not know {target}"


def look_outside(module: Module) -> Iterator[str]:
    """The engine reads no clock, no environment, no randomness, and says nothing itself."""
    if module.room in SHELL:
        return
    for imported, line, _ in module.imports():
        if imported.split(".")[0] in WORLD_MODULES | STARTERS:
            yield f"{line}: import {imported}"
    for node in module.nodes:
        if isinstance(node, ast.Attribute):
            used = dotted(node)
            if node.attr == "expanduser" or any(used == one or used.endswith(f".{one}") for one in WORLD_NAMES):
                yield f"{node.lineno}: {used}"
        elif isinstance(node, ast.Call) and dotted(node.func) in ("print", "input", "exit"):
            yield f"{node.lineno}: {dotted(node.func)}()"


def leave_the_machine(module: Module) -> Iterator[str]:
    """What README.md promises: no connection, no file written but where it says."""
    for imported, line, _ in module.imports():
        # Taking an address apart is no connection.
        if imported.split(".")[0] in NETWORK and imported != "urllib.parse" and module.name != WIRE:
            yield f"{line}: import {imported}"
        if SPEAKERS.get(imported.split(".")[0], module.name) != module.name:
            yield f"{line}: import {imported}"
        if imported.startswith("diagnoser.scraping") and module.room != "scraping" and module.name != LOADER:
            yield f"{line}: import {imported}"
    if module.room not in SHELL and module.name not in WRITERS:
        for node in module.nodes:
            if isinstance(node, ast.Call) and writes(node):
                yield f"{node.lineno}: {dotted(node.func)}"


def writes(call: ast.Call) -> bool:
    called = dotted(call.func)
    last = called.rpartition(".")[2]
    if called in WRITE_NAMES or last in WRITES:
        return True
    modes = [*call.args, *(word.value for word in call.keywords if word.arg == "mode")]
    said = [one.value for one in modes if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return last == "open" and any(re.fullmatch(r"[rwaxbt+]*[wax+][rwaxbt+]*", mode) for mode in said)


def change_at_module_level(module: Module) -> Iterator[str]:
    """State lives in one object per run."""
    kept = {
        target.id
        for node in module.tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for function in module.nodes:
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        inner = list(ast.walk(function))
        local = {node.id for node in inner if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        local |= {node.arg for node in inner if isinstance(node, ast.arg)}
        yield from (f"{line}: {one} changes" for one, line in changes(inner) if one in kept - local)
        yield from (f"{line}: global {one}" for one, line in declared(inner))
        yield from (
            f"{function.lineno}: a memo without bound" for mark in function.decorator_list if grows(mark, function)
        )


def changes(nodes: list[ast.AST]) -> Iterator[tuple[str, int]]:
    for node in nodes:
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            yield dotted(node.value), node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGERS:
            yield dotted(node.func.value), node.lineno


def declared(nodes: list[ast.AST]) -> Iterator[tuple[str, int]]:
    for node in nodes:
        if isinstance(node, ast.Global):
            yield from ((one, node.lineno) for one in node.names)


def grows(mark: ast.expr, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a decorator keeps one result per argument for as long as the process lives."""
    called = mark.func if isinstance(mark, ast.Call) else mark
    bounded = isinstance(mark, ast.Call) and any(word.arg == "maxsize" for word in mark.keywords)
    arguments = any(isinstance(one, ast.arg) for one in ast.walk(function.args))
    return dotted(called).rpartition(".")[2] in ("cache", "lru_cache") and arguments and not bounded


def two_ideas(module: Module) -> Iterator[str]:
    """Every module says what it is for and is short enough to be read at once."""
    if not ast.get_docstring(module.tree):
        yield "1: no docstring"
    if module.source.count("\n") >= 250:
        yield f"250: {module.source.count(chr(10))} lines"


def effect_of_import(module: Module) -> Iterator[str]:
    """At module level: definitions and constants, nothing that is called for its effect."""
    if module.name != "__main__.py":
        for node in module.tree.body:
            if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant):
                yield f"{node.lineno}: a call for its effect"


Rule = Callable[[Module], Iterator[str]]
RULES: list[Rule] = [
    arrow_to_the_right,
    report_that_knows_more,
    look_outside,
    leave_the_machine,
    change_at_module_level,
    two_ideas,
    effect_of_import,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_no(rule: Rule) -> None:
    wrong = [f"diagnoser/{module.name}:{said}" for module in modules() for said in rule(module)]
    assert not wrong, "\n".join([str(rule.__doc__), *wrong])


@pytest.mark.parametrize(
    ("rule", "name", "source"),
    [
        (arrow_to_the_right, "rules/a.py", "def f():\n    from diagnoser.ranking import rank"),
        (arrow_to_the_right, "model.py", "from diagnoser import reports"),
        (report_that_knows_more, "reports/a.py", "import diagnoser.rules.model"),
        (look_outside, "rules/a.py", "from time import monotonic"),
        (look_outside, "evidence/a.py", "import datetime as d\nx = d.datetime.now()"),
        (look_outside, "api.py", "import os\nx = os.environ['HOME']"),
        (look_outside, "sources/a.py", "def f(p):\n    return p.expanduser()"),
        (look_outside, "ranking/a.py", "print('x')"),
        (leave_the_machine, "commands/a.py", "import urllib.request"),
        (leave_the_machine, "scraping/a.py", "import urllib3"),
        (leave_the_machine, "sources/a.py", "import fsspec"),
        (leave_the_machine, "commands/a.py", "def f():\n    from distributed import Client"),
        (leave_the_machine, "commands/a.py", "def f():\n    from diagnoser.scraping import ranges"),
        (leave_the_machine, "evidence/a.py", "def f(p):\n    p.open('ab')"),
        (leave_the_machine, "rules/a.py", "def f(p):\n    p.write_text('x')"),
        (change_at_module_level, "rules/a.py", "SEEN = set()\ndef f(x):\n    SEEN.add(x)"),
        (change_at_module_level, "rules/a.py", "SEEN = {}\ndef f(x):\n    SEEN[x] = 1"),
        (change_at_module_level, "rules/a.py", "N = 0\ndef f():\n    global N\n    N = 1"),
        (change_at_module_level, "rules/a.py", "@functools.cache\ndef f(x):\n    return x"),
        (two_ideas, "rules/a.py", "x = 1"),
        (two_ideas, "rules/a.py", '"""Long."""\n' + "x = 1\n" * 250),
        (effect_of_import, "rules/a.py", "register('x')"),
    ],
)
def test_the_rule_sees(rule: Rule, name: str, source: str) -> None:
    assert list(rule(Module(name, source)))


@pytest.mark.parametrize(
    ("rule", "name", "source"),
    [
        (arrow_to_the_right, "ranking/a.py", "from diagnoser.rules.model import Rule"),
        (look_outside, "commands/a.py", "import os, time\nx = os.environ"),
        (leave_the_machine, "evidence/a.py", "def f(p):\n    p.open('rb', buffering=0)"),
        (leave_the_machine, "scraping/fetch.py", "import urllib3"),
        (change_at_module_level, "rules/a.py", "ORDER = []\ndef f():\n    ORDER = []\n    ORDER.append(1)"),
        (change_at_module_level, "rules/a.py", "@lru_cache(maxsize=8)\ndef f(x):\n    return x"),
        (change_at_module_level, "rules/a.py", "@cache\ndef f():\n    return 1"),
    ],
)
def test_the_rule_lets_pass(rule: Rule, name: str, source: str) -> None:
    assert not list(rule(Module(name, source)))


def test_every_room_has_its_place() -> None:
    rooms = {module.room for module in modules()} - {"__init__"}
    assert rooms == set(order()), "the order in docs/architecture.md and the rooms under diagnoser/ differ"


def test_rooms_are_not_in_a_circle() -> None:
    """Rooms of one line may know each other, but not both ways (type checkers see what they like)."""
    edges = {
        (module.room, target)
        for module in modules()
        for target, _, quiet in module.rooms()
        if not quiet and target != module.room and module.room != "__init__"
    }
    assert not {edge for edge in edges if edge[::-1] in edges}


def files() -> str:
    """One line per file, from the first line of its docstring."""
    out: list[str] = []
    for room in dict.fromkeys(["__init__", *order()]):
        inside = [module for module in modules() if module.room == room]
        if any("/" in module.name for module in inside):
            out.append(f"\n**{room}/**\n")
        elif out and not out[-1].startswith("- `" + room) and "/" in out[-1].partition("`: ")[0]:
            out.append("")
        for module in inside:
            first = (ast.get_docstring(module.tree) or "").partition("\n")[0]
            out.append(f"- `{module.name}`: {first}")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip("\n") + "\n"


def test_the_page_lists_every_file() -> None:
    written = PAGE.read_text(encoding="utf-8").partition(MARK)[2]
    assert written.strip("\n") == files().strip("\n"), "run: python tests/test_architecture.py"


if __name__ == "__main__":
    head = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
    PAGE.write_text(f"{head}{MARK}\n{files()}", encoding="utf-8")
