"""Aider: one message that makes it rewrite a file, with an edit in text as the answer."""

import json
import pathlib

from harness import process

from . import harbor
from .isolation import environment

TIMEOUT = 120


def start(
    python, root_url: str, openai_base: str, key: str, model: str, prompt: str, home, work, edit_format: str = "whole"
):
    """Runs `aider --message` to its end.

    `model` is as Aider's users write it: `openai/<model>` over Chat Completions,
    `anthropic/<model>` over Messages.
    """
    prices = home / ".aider" / "caches" / "model_prices_and_context_window.json"
    prices.parent.mkdir(parents=True, exist_ok=True)
    # A fresh list of prices keeps it from asking the network for one.
    prices.write_text('{"none": {}}')
    # Aider asks for temperature 0 unless told otherwise, which current Claude models refuse.
    settings = work / ".aider.model.settings.yml"
    settings.write_text(f"- name: {model}\n  edit_format: {edit_format}\n  use_temperature: false\n")
    env = environment(
        home,
        OPENAI_API_BASE=openai_base,
        OPENAI_API_KEY=key,
        ANTHROPIC_BASE_URL=root_url,
        ANTHROPIC_API_KEY=key,
        LITELLM_LOCAL_MODEL_COST_MAP="True",
    )
    argv = [
        *(python, "-m", "aider"),
        *("--model", model, "--weak-model", model),
        *("--yes-always", "--no-git", "--no-check-update", "--no-show-model-warnings"),
        *("--no-analytics", "--no-show-release-notes", "--no-suggest-shell-commands", "--no-pretty"),
        *("--map-tokens", "0", "--no-detect-urls"),
        *("--message", prompt),
        "harbor.py",
    ]
    return process.run(argv, timeout=TIMEOUT, cwd=work, env=env)


def steps() -> list:
    return [{"text": f"One line changes.\n\nharbor.py\n```\n{harbor.AFTER}```\n"}]


def check(done, work: pathlib.Path) -> None:
    harbor.check(done, work)
    assert "Applied edit to harbor.py" in done.stdout, f"no edit was reported: {json.dumps(done.stdout[-600:])}"
