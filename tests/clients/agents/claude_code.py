"""Claude Code: a headless session that reads a file, writes one and runs a command."""

import json
import pathlib

from harness import install, process

from . import harbor
from .isolation import environment

TIMEOUT = 90


def start(modules, root_url: str, key: str, model: str, prompt: str, home: pathlib.Path, work: pathlib.Path):
    """Runs `claude -p` to its end; telemetry and updates are off because the test has no network."""
    env = environment(
        home,
        CLAUDE_CONFIG_DIR=str(home / ".claude"),
        ANTHROPIC_BASE_URL=root_url,
        ANTHROPIC_AUTH_TOKEN=key,
        ANTHROPIC_SMALL_FAST_MODEL=model,
        ANTHROPIC_DEFAULT_HAIKU_MODEL=model,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        DISABLE_TELEMETRY="1",
        DISABLE_AUTOUPDATER="1",
        DISABLE_ERROR_REPORTING="1",
        CLAUDE_CODE_MAX_RETRIES="0",
    )
    argv = [
        install.platform_binary(modules, "claude-code"),
        *("-p", prompt),
        *("--output-format", "json"),
        *("--model", model),
        # Skipping permissions outright is refused to root, which containers often are.
        *("--allowedTools", "Read,Write,Edit,Bash"),
    ]
    return process.run(argv, timeout=TIMEOUT, cwd=work, env=env)


# Stands in the script for the project's directory, which is not known yet when it is written.
PROJECT = "/project-directory"


def steps() -> list:
    """Three tool turns and an answer, in the shape of Claude Code's own tools."""
    notes, report = f"{PROJECT}/notes.txt", f"{PROJECT}/report.txt"
    content = "Copied: the harbor opens at six.\n"
    count = {"command": "wc -l < report.txt > count.txt", "description": "Count lines"}
    return [
        {"think": "Look first.", "text": "Reading the notes.", "tools": [{"name": "Read", "args": {"file_path": notes}}]},
        {"think": "Now write.", "tools": [{"name": "Write", "args": {"file_path": report, "content": content}}]},
        {"think": "Now count.", "tools": [{"name": "Bash", "args": count}]},
        {"text": "Report written and counted."},
    ]


def session(done) -> dict:
    """The result of a session that ended well."""
    try:
        result = json.loads(done.stdout)
    except ValueError:
        raise AssertionError(f"no JSON result: {done.tail()}") from None
    assert done.code == 0 and not result.get("is_error"), f"session failed: {done.tail()}"
    return result


def check_edit(done, work: pathlib.Path) -> None:
    """The file was read and edited with the session's own tools, and the report came last."""
    harbor.check(done, work)
    result = session(done)
    assert harbor.REPORT in result["result"], f"last text: {result['result']!r}"
    assert result["num_turns"] == 3, f"{result['num_turns']} turns"


def check(done, work: pathlib.Path) -> None:
    """The session ended well and its tools really ran."""
    result = session(done)
    assert "Report written and counted." in result["result"], f"last text: {result['result']!r}"
    assert result["num_turns"] >= 4, f"{result['num_turns']} turns"
    assert result["usage"]["output_tokens"] > 0, "no usage was reported"
    wrote = (work / "report.txt").read_text()
    assert wrote == "Copied: the harbor opens at six.\n", f"report.txt: {wrote!r}"
    assert (work / "count.txt").read_text().strip() == "1", "the command did not run"
