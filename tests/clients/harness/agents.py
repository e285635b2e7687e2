"""The command-line agents as clients of the matrix: one cell per backend, in the slow stage."""

import json
import pathlib

from agents import aider, claude_code, codex, harbor

from . import install, targets

# Backends over which Aider edits without a script; it starts slowly, and two dialects tell enough.
TRANSLATED = {"chat": ("anthropic", "gemini"), "messages": ("openai-chat", "responses")}
NOTES = "The harbor opens at six.\n"


def cell(
    client: str, dialect: str, backend: targets.Backend, scenario: str, steps: list, model: str | None = None
) -> dict:
    """A cell whose work is done in a project directory; the script names the files in it."""
    name = f"{client}.{dialect}.{backend.name}.{scenario}"
    return {
        "id": name,
        "client": client,
        "dialect": dialect,
        "backend": backend.name,
        "scenario": scenario,
        "kind": "agent",
        "model": model or backend.model,
        "prompt": f"[cell {name}] Do it. bardo-script: " + json.dumps({"steps": steps}, ensure_ascii=False),
        "thoughts": [step.get("think") for step in steps],
        "turns": len(steps),
        "reads": NOTES.strip() if any("tools" in step for step in steps) else None,
        "options": {"thinking": any("think" in step for step in steps)},
        "expect": {},
    }


def asked(client: str, dialect: str, backend: targets.Backend, scenario: str, turns: int, model: str | None = None) -> dict:
    """A cell without a script: the simulated model finds out by itself what to do with its tools."""
    entry = cell(client, dialect, backend, scenario, [{}] * turns, model)
    reads = harbor.BEFORE.splitlines()[0] if turns > 1 else None
    return {**entry, "prompt": f"[cell {entry['id']}] {harbor.ASK}", "reads": reads}


class Agent:
    """Runs each of its cells in a directory and a home of its own."""

    stage = "slow"
    scenario = "tool-loop"
    # Cells whose work is asked for in plain words.
    plain = ("edit-file",)

    def chosen(self, entries: list, pattern) -> list:
        return [entry for entry in entries if pattern is None or pattern.search(entry["id"])]

    def run(self, cells, world, scratch: pathlib.Path) -> dict:
        outcomes = {}
        for entry in cells:
            place = scratch / entry["id"]
            home, work = place / "home", self.project(place)
            work.mkdir(parents=True, exist_ok=True)
            (work / "notes.txt").write_text(NOTES)
            harbor.prepare(work)
            try:
                done = self.session(entry, world, home, work)
                (place / "stdout.log").write_text(done.stdout)
                (place / "stderr.log").write_text(done.stderr)
                outcomes[entry["id"]] = {"ok": True, "detail": None, "seconds": done.seconds}
                check = self.check_edit if entry["scenario"] in self.plain else self.check
                check(done, work)
            except (AssertionError, OSError, KeyError, ValueError) as error:
                outcomes[entry["id"]] = {"ok": False, "detail": f"{type(error).__name__}: {error}"}
        return outcomes

    @staticmethod
    def project(place: pathlib.Path) -> pathlib.Path:
        return place / "project"


class ClaudeCode(Agent):
    name = "claude-code"

    def install(self) -> None:
        self.modules = install.npm("agents")

    def cells(self, world, pattern) -> list:
        entries = [
            entry
            for backend in world.backends("messages")
            for entry in (
                cell(self.name, "messages", backend, self.scenario, claude_code.steps()),
                asked(self.name, "messages", backend, "edit-file", 3),
            )
        ]
        return self.chosen(entries, pattern)

    def session(self, entry, world, home, work):
        root = world.root(targets.BACKEND[entry["backend"]])
        prompt = entry["prompt"].replace(claude_code.PROJECT, str(work))
        return claude_code.start(self.modules, root, world.key, entry["model"], prompt, home, work)

    check = staticmethod(claude_code.check)
    check_edit = staticmethod(claude_code.check_edit)


class Codex(Agent):
    name = "codex"

    def install(self) -> None:
        self.modules = install.npm("agents")

    def cells(self, world, pattern) -> list:
        entries = [
            entry
            for backend in world.backends("responses")
            for entry in (
                cell(self.name, "responses", backend, self.scenario, codex.steps(backend.model)),
                asked(self.name, "responses", backend, "edit-file", 3),
            )
        ]
        for alias, name in targets.ALIASES.items():
            backend = targets.BACKEND[name]
            entries.append(cell(self.name, "responses", backend, "free-form-tool", codex.steps(alias), alias))
        return self.chosen(entries, pattern)

    def session(self, entry, world, home, work):
        base = world.openai_base(targets.BACKEND[entry["backend"]])
        return codex.start(self.modules, base, world.key, entry["model"], entry["prompt"], home, work)

    check = staticmethod(codex.check)
    check_edit = staticmethod(codex.check_edit)


class Aider(Agent):
    name = "aider"
    scenario = "edit"
    plain = ("edit-whole", "edit-diff")

    def install(self) -> None:
        self.python = install.venv("aider")

    def cells(self, world, pattern) -> list:
        entries = [
            entry
            for dialect in ("chat", "messages")
            for backend in world.backends(dialect)
            for entry in (
                cell(self.name, dialect, backend, self.scenario, aider.steps()),
                *(asked(self.name, dialect, backend, form, 1) for form in self.plain if backend.name in TRANSLATED[dialect]),
            )
        ]
        return self.chosen(entries, pattern)

    def run(self, cells, world, scratch: pathlib.Path) -> dict:
        with aider.Sessions(self.python, scratch / self.name / "home") as self.sessions:
            return super().run(cells, world, scratch)

    def session(self, entry, world, home, work):
        backend = targets.BACKEND[entry["backend"]]
        model = ("openai/" if entry["dialect"] == "chat" else "anthropic/") + entry["model"]
        root, base = world.root(backend), world.openai_base(backend)
        form = "diff" if entry["scenario"] == "edit-diff" else "whole"
        return aider.start(self.sessions, root, base, world.key, model, entry["prompt"], home, work, form)

    check = staticmethod(aider.check)
    check_edit = staticmethod(aider.check)


AGENTS = [ClaudeCode(), Codex(), Aider()]
