"""The clients, each with how it is installed, which cells it has and how they are run."""

import json
import pathlib
import shutil

from . import agents, install, printed, process, scenarios

HERE = pathlib.Path(__file__).resolve().parent.parent
PROGRAM_TIMEOUT = 600


def read_outcomes(done: process.Finished, cells: list) -> dict:
    """The JSON lines of an SDK program; a program that died fails what it had not reached."""
    outcomes = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            row = json.loads(line)
            outcomes[row["id"]] = {"ok": row["ok"], "detail": row["detail"], "seconds": row.get("seconds")}
    for cell in cells:
        outcomes.setdefault(cell["id"], {"ok": False, "detail": f"not reached: {done.tail()}"})
    return outcomes


class PythonSdks:
    """The OpenAI and Anthropic SDKs for Python, strict validation on."""

    stage = "fast"
    dialects = ("chat", "responses", "messages")

    def __init__(self, name: str, requirements: str) -> None:
        self.name = name
        self.requirements = requirements

    def install(self) -> None:
        self.python = install.venv(self.requirements)

    def cells(self, world, pattern) -> list:
        return scenarios.plan(self.name, self.dialects, world, pattern)

    def run(self, cells, world, scratch) -> dict:
        argv = [*isolated(self.python), "-c", BOOT.format(place=str(HERE / "sdk" / "python"))]
        done = process.run(argv, timeout=PROGRAM_TIMEOUT, stdin=json.dumps(cells), cwd=scratch)
        return read_outcomes(done, cells)


BOOT = "import sys; sys.path.insert(0, {place!r}); import main; main.main()"


def isolated(python: pathlib.Path) -> list:
    """Python without the caller's PYTHON* settings and the script's directory, its bytecode beside its packages."""
    bytecode = python.parent.parent / "bytecode"
    return [python, "-I", "-X", "utf8", "-X", f"pycache_prefix={bytecode}"]


class JavaScriptSdks:
    """SDKs for JavaScript, their answers held to schemas derived from their own types."""

    stage = "fast"

    def __init__(self, name: str, package: str, program: str, dialects) -> None:
        self.name = name
        self.package = package
        self.program = program
        self.dialects = dialects

    def install(self) -> None:
        self.place = install.npm(self.package)
        install.derived(self.place, HERE / "sdk" / "js" / "derive.mjs")

    def cells(self, world, pattern) -> list:
        cells = scenarios.plan(self.name, self.dialects, world, pattern)
        return [cell for cell in cells if self.has(cell, world)]

    def has(self, cell, world) -> bool:
        return True

    def run(self, cells, world, scratch) -> dict:
        # Node finds packages from where the importing file lies, so the programs go beside them.
        programs = self.place / f"programs-{self.name}"
        shutil.rmtree(programs, ignore_errors=True)
        shutil.copytree(HERE / "sdk" / "js", programs)
        argv = ["node", programs / self.program]
        done = process.run(argv, timeout=PROGRAM_TIMEOUT, stdin=json.dumps(cells), cwd=programs)
        return read_outcomes(done, cells)


class VercelSdk(JavaScriptSdks):
    """The Vercel AI SDK, which has its own loop and its own validation."""

    def __init__(self) -> None:
        super().__init__("vercel", "current", "vercel.mjs", ("chat", "responses", "messages", "compatible"))

    def has(self, cell, world) -> bool:
        if cell["kind"] in ("hit", "models", "count_tokens", "embeddings") or cell["scenario"] == "thinking-dropped":
            return False
        # Its Chat Completions provider never sends reasoning back, which DeepSeek itself refuses.
        forgets = cell["dialect"] == "chat" and cell["backend"] == "deepseek"
        return not (forgets and cell["options"].get("tools"))


CLIENTS = [
    PythonSdks("py-current", "current"),
    PythonSdks("py-previous", "previous"),
    JavaScriptSdks("js-current", "current", "main.mjs", ("chat", "responses", "messages")),
    JavaScriptSdks("js-previous", "previous", "main.mjs", ("chat", "responses", "messages")),
    VercelSdk(),
    *agents.AGENTS,
    printed.Printed(),
    printed.Banner(),
]
