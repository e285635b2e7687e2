"""Aider: one message that makes it rewrite a file, with an edit in text as the answer."""

import json
import pathlib
import subprocess

from harness import process

from . import harbor
from .isolation import environment

PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "sdk" / "python" / "aider_sessions.py"
TIMEOUT = 120
# The list of models in the package, rather than the one on the network.
LOCAL = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}


def started(python):
    """How a session runs as a program of its own."""

    def run(argv: list, cwd, env: dict) -> process.Finished:
        return process.run([python, "-m", "aider", *argv], timeout=TIMEOUT, cwd=cwd, env=env)

    return run


class Sessions:
    """Aider, loaded once for several sessions, which run one after the other."""

    def __init__(self, python, home: pathlib.Path) -> None:
        env = environment(home, **LOCAL)
        self.log = (home.parent / "sessions.log").open("wb")
        self.child = subprocess.Popen(
            [python, "-I", "-X", "utf8", PROGRAM],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            start_new_session=True,
        )

    def __call__(self, argv: list, cwd, env: dict) -> process.Finished:
        out = {name: pathlib.Path(env["HOME"]) / f"{name}.log" for name in ("stdout", "stderr")}
        session = {"argv": argv, "cwd": str(cwd), "env": env, "timeout": TIMEOUT, **{name: str(path) for name, path in out.items()}}
        self.child.stdin.write(json.dumps(session).encode() + b"\n")
        self.child.stdin.flush()
        line = self.child.stdout.readline()
        if not line:
            raise OSError(f"Aider does not load: {pathlib.Path(self.log.name).read_text(errors='replace')[-1500:]}")
        said = {name: path.read_text(errors="replace") for name, path in out.items()}
        return process.Finished(**json.loads(line), **said)

    def __enter__(self) -> "Sessions":
        return self

    def __exit__(self, *_exc) -> None:
        process.kill_group(self.child)
        self.log.close()


def start(run, root_url: str, openai_base: str, key: str, model: str, prompt: str, home, work, edit_format: str = "whole"):
    """Runs `aider --message` to its end, by `started(…)` or in `Sessions`.

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
        **LOCAL,
    )
    argv = [
        *("--model", model, "--weak-model", model),
        *("--yes-always", "--no-git", "--no-check-update", "--no-show-model-warnings"),
        *("--no-analytics", "--no-show-release-notes", "--no-suggest-shell-commands", "--no-pretty"),
        *("--map-tokens", "0", "--no-detect-urls"),
        *("--message", prompt),
        "harbor.py",
    ]
    return run(argv, work, env)


def steps() -> list:
    return [{"text": f"One line changes.\n\nharbor.py\n```\n{harbor.AFTER}```\n"}]


def check(done, work: pathlib.Path) -> None:
    harbor.check(done, work)
    assert "Applied edit to harbor.py" in done.stdout, f"no edit was reported: {json.dumps(done.stdout[-600:])}"
