"""Unmodified agents that pay from a wallet, behind `bardo-inference run`.

Each agent works over the simulated blockrun.ai, in its own dialect and over Chat
Completions alone, where the proxy translates. A second session has a cap that its
second request does not fit into: it must stop at once, and the caller must read why.
"""

import contextlib
import dataclasses
import json
import os
import pathlib

from agents import aider, claude_code, codex, harbor, isolation

from . import install, process, services

# A key that everybody knows; its account has no money on any real network.
KEY = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
TIMEOUT = 120
# A cap that stops a session has to do so before the retries of an agent would have ended.
STOPPED_WITHIN = 30


@dataclasses.dataclass(frozen=True)
class Session:
    """An agent, the model that it asks for, and what its seller speaks."""

    agent: str
    dialect: str
    model: str
    speaks: str = ""
    # USD: enough for the first request of the session, except for Aider, which has only one.
    cap: str = ""

    @property
    def name(self) -> str:
        return f"{self.agent}-{'translated' if self.speaks else 'own'}{'-capped' if self.cap else ''}"


SESSIONS = [
    Session("claude-code", "messages", "anthropic/claude-opus-5.5"),
    Session("claude-code", "messages", "openai/gpt-5.4", speaks="chat"),
    Session("claude-code", "messages", "openai/gpt-5.4", speaks="chat", cap="0.15"),
    Session("codex", "responses", "openai/gpt-5.4"),
    Session("codex", "responses", "anthropic/claude-sonnet-5", speaks="chat"),
    Session("codex", "responses", "openai/gpt-5.4", cap="0.06"),
    Session("aider", "chat", "anthropic/claude-sonnet-5"),
    Session("aider", "chat", "anthropic/claude-sonnet-5", cap="0.01"),
]


class PayingAgents:
    """Every session over a sandbox of its own."""

    name = "paying-agents"
    stage = "slow"

    def install(self) -> None:
        self.modules, self.python = install.npm("agents"), install.venv("aider")

    def cells(self, world, pattern) -> list:
        if world.direct:
            return []
        self.gateway = world.binary
        entries = [self.cell(session) for session in SESSIONS]
        return [entry for entry in entries if pattern is None or pattern.search(entry["id"])]

    def cell(self, session: Session) -> dict:
        return {
            "id": f"{self.name}.{session.dialect}.blockrun.{session.name}",
            "client": self.name,
            "dialect": session.dialect,
            "backend": "blockrun",
            "scenario": session.name,
            "kind": "money",
            "model": session.model,
            "session": session.name,
            "options": {},
            "expect": {},
        }

    def run(self, cells, _world, scratch: pathlib.Path) -> dict:
        outcomes = {}
        for cell in cells:
            session = next(session for session in SESSIONS if session.name == cell["session"])
            place = scratch / cell["id"]
            work = place / "project"
            work.mkdir(parents=True)
            harbor.prepare(work)
            try:
                with self.sandbox(place) as at:
                    done = process.run(
                        self.command(session, place),
                        timeout=TIMEOUT,
                        cwd=work,
                        env=self.environment(session, at, place / "home"),
                    )
                    (place / "stdout.log").write_text(done.stdout)
                    (place / "stderr.log").write_text(done.stderr)
                    check(session, done, work, services.Journal(at).entries())
                outcomes[cell["id"]] = {"ok": True, "detail": None, "seconds": done.seconds}
            except (AssertionError, OSError, KeyError, ValueError, RuntimeError) as error:
                outcomes[cell["id"]] = {"ok": False, "detail": f"{type(error).__name__}: {error}"}
        return outcomes

    @contextlib.contextmanager
    def sandbox(self, place: pathlib.Path):
        argv = [self.gateway, "sandbox", "--listen", "127.0.0.1:0", "--json", "--fast"]
        with process.Server("sandbox", argv, place / "sandbox.log") as sandbox:
            yield sandbox.ready()["listen"]

    def environment(self, session: Session, at: str, home: pathlib.Path) -> dict:
        codex_home = home / ".codex"
        codex_home.mkdir(parents=True)
        # A fresh list of prices keeps Aider from asking the network for one.
        prices = home / ".aider" / "caches" / "model_prices_and_context_window.json"
        prices.parent.mkdir(parents=True)
        prices.write_text('{"none": {}}')
        # The caller's own settings lead elsewhere, and must not win.
        (home / ".claude").mkdir()
        elsewhere = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "ANTHROPIC_API_KEY": "sk-ant-own"}
        (home / ".claude" / "settings.json").write_text(json.dumps({"env": elsewhere}))
        env = isolation.environment(
            home,
            BARDO_INFERENCE_KEY=KEY,
            BARDO_INFERENCE_ENDPOINT=f"http://{at}/blockrun/api",
            BARDO_INFERENCE_MODEL=session.model,
            # No chain: where nobody says what Permit2 may move, fixed prices are paid.
            BARDO_INFERENCE_RPC="http://127.0.0.1:9",
            CODEX_HOME=str(codex_home),
            CLAUDE_CONFIG_DIR=str(home / ".claude"),
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            DISABLE_TELEMETRY="1",
            DISABLE_AUTOUPDATER="1",
            DISABLE_ERROR_REPORTING="1",
            LITELLM_LOCAL_MODEL_COST_MAP="True",
        )
        if session.speaks:
            env["BARDO_INFERENCE_SPEAKS"] = session.speaks
        if session.cap:
            env["BARDO_INFERENCE_CAP_SESSION"] = session.cap
        return env

    def command(self, session: Session, place: pathlib.Path) -> list:
        """The proxy with the agent behind it; the agent's name decides what the proxy hands it."""
        proxy = self.gateway.parent / "bardo-inference"
        if not proxy.is_file():
            raise RuntimeError("cargo build --release -p bardo-inference: the proxy is not built")
        return [proxy, "run", "--", *getattr(self, session.agent.replace("-", "_"))(session, place)]

    def claude_code(self, _session: Session, place: pathlib.Path) -> list:
        program = place / "claude"
        os.symlink(install.platform_binary(self.modules, "claude-code"), program)
        return [program, "-p", harbor.ASK, "--output-format", "json", "--allowedTools", "Read,Write,Edit,Bash"]

    def codex(self, _session: Session, _place: pathlib.Path) -> list:
        program = self.modules / "node_modules" / ".bin" / "codex"
        options = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--json"]
        return [program, "exec", *options, harbor.ASK]

    def aider(self, session: Session, place: pathlib.Path) -> list:
        model = f"openai/{session.model}"
        settings = f"- name: {model}\n  edit_format: whole\n  use_temperature: false\n"
        (place / "project" / ".aider.model.settings.yml").write_text(settings)
        return [
            *(self.python.parent / "aider", "--weak-model", model),
            *("--yes-always", "--no-git", "--no-check-update", "--no-show-model-warnings"),
            *("--no-analytics", "--no-show-release-notes", "--no-suggest-shell-commands", "--no-pretty"),
            *("--map-tokens", "0", "--no-detect-urls"),
            *("--message", harbor.ASK, harbor.NAME),
        ]


def check(session: Session, done, work: pathlib.Path, entries: list) -> None:
    """What the agent did, what the caller reads, and what the seller saw."""
    assert not done.timed_out, done.tail()
    assert "bardo-inference: spent " in done.stderr, done.tail()
    secrets = (KEY, "bardo-local-", "sk-ant-own")
    assert not any(secret in str(entries) for secret in secrets), "a secret reached the seller"
    paths = {entry["path"] for entry in entries}
    own = {"claude-code": "/messages", "codex": "/responses", "aider": "/chat/completions"}[session.agent]
    path = "/chat/completions" if session.speaks else own
    assert paths and all(seen.endswith(path) for seen in paths), f"the seller was asked at {paths}"
    if session.cap:
        told = done.stdout + done.stderr
        assert f"session cap of {float(session.cap):.6f} USD" in told.replace("\n", " ").replace("  ", " "), done.tail()
        assert (work / harbor.NAME).read_text() == harbor.BEFORE, "it went on"
        assert done.seconds < STOPPED_WITHIN, f"it stopped after {done.seconds:.0f} s"
        # The last request was asked for once, and not paid.
        assert entries[-1]["status"] == 402, entries[-1]["status"]
        return
    agents = {"claude-code": claude_code, "codex": codex, "aider": aider}
    getattr(agents[session.agent], "check_edit", agents[session.agent].check)(done, work)


CLIENTS = [PayingAgents()]
