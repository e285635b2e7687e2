"""Codex: a headless session over the Responses API that reads, writes and checks with its shell tool."""

import json
import pathlib

from harness import process

from . import harbor
from .isolation import environment

TIMEOUT = 90

CONFIG = """
model_provider = "bardo"

[model_providers.bardo]
name = "Bardo"
base_url = "{base}"
env_key = "BARDO_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"""


def start(modules, base_url: str, key: str, model: str, prompt: str, home: pathlib.Path, work: pathlib.Path):
    """Runs `codex exec` to its end, with its own sandbox off: the directory is a throw-away one."""
    settings = home / ".codex"
    settings.mkdir(parents=True, exist_ok=True)
    (settings / "config.toml").write_text(CONFIG.format(base=base_url))
    env = environment(home, CODEX_HOME=str(settings), BARDO_KEY=key)
    argv = [
        *(modules / "node_modules" / ".bin" / "codex", "exec"),
        *("--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--json"),
        *("--model", model),
        prompt,
    ]
    return process.run(argv, timeout=TIMEOUT, cwd=work, env=env)


def steps(model: str) -> list:
    """Three tool turns and an answer.

    The client gives its newest models one free-form tool that takes JavaScript, and
    every other model a function with a JSON schema.
    """
    commands = ["cat notes.txt", "sed 's/^/Copied: /' notes.txt > report.txt", "wc -l < report.txt > count.txt"]
    turns = []
    for command in commands:
        if model.startswith("gpt-6"):
            source = f"const r = await tools.exec_command({{cmd: {json.dumps(command)}}}); text(r.output);"
            turns.append({"think": "Next command.", "tools": [{"name": "exec", "input": source}]})
        else:
            turns.append({"think": "Next command.", "tools": [{"name": "exec_command", "args": {"cmd": command}}]})
    turns[0]["text"] = "Reading the notes."
    return [*turns, {"text": "Report written and counted."}]


def session(done) -> tuple:
    """The events of a turn that completed, and the texts among them."""
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    kinds = [event["type"] for event in events]
    assert done.code == 0 and "turn.completed" in kinds, f"session failed: {done.tail()}"
    assert "turn.failed" not in kinds and "error" not in kinds, f"session failed: {done.tail()}"
    return events, [e["item"].get("text", "") for e in events if e["type"] == "item.completed"]


def check_edit(done, work: pathlib.Path) -> None:
    """The file was read and edited with the session's own tools, and the report came last."""
    harbor.check(done, work)
    _events, said = session(done)
    assert harbor.REPORT in said[-1], f"texts: {said}"


def check(done, work: pathlib.Path) -> None:
    """The turn completed and its commands really ran."""
    events, said = session(done)
    assert any("Report written and counted." in text for text in said), f"texts: {said}"
    usage = next(event for event in events if event["type"] == "turn.completed")["usage"]
    assert usage["output_tokens"] > 0, "no usage was reported"
    wrote = (work / "report.txt").read_text()
    assert wrote == "Copied: The harbor opens at six.\n", f"report.txt: {wrote!r}"
    assert (work / "count.txt").read_text().strip() == "1", "the last command did not run"
