"""Lines that newcomers paste, run as they are printed.

`serve --sandbox` prints one line per tool; these are run to the letter. Beyond that,
every fenced block of `README.md` and of the pages in `docs/` whose info string carries
the word `run` (as in ```` ```sh run ````) is executed against `serve --sandbox` on the
address that the page names. Nothing in a block is changed except the key, which is new on
every start, and the port where another program uses it on this machine.
"""

import dataclasses
import json
import os
import pathlib
import re
import shlex
import socket

from agents import isolation

from . import install, process

REPO = install.REPO
TIMEOUT = 120
DATA_PORT, ADMIN_PORT = 8402, 8403
FENCE = re.compile(r"^```(\w+)([^\n`]*)\n(.*?)^```\s*$", re.M | re.S)
# How a page may write the key it cannot know.
KEY_PLACEHOLDER = re.compile(r"bardo_sk_(?:…|\.\.\.|<[a-z ]+>|[xX]{3,})")


@dataclasses.dataclass
class Block:
    name: str
    language: str
    text: str


def blocks(page: str, prefix: str = "") -> list:
    """The blocks that ask to be run, named by the page and by what they call first."""
    found = []
    for language, info, text in FENCE.findall(page):
        if "run" not in info.split():
            continue
        tool = next((word for word in ("claude", "codex", "aider", "curl") if re.search(rf"\b{word}\b", text)), None)
        if language in ("python", "py", "js", "javascript", "mjs"):
            package = "anthropic" if "anthropic" in text.lower() else "ai-sdk" if "@ai-sdk" in text else "openai"
            tool = f"{language}-{package}"
        found.append(Block(f"{prefix}{len(found) + 1}-{tool or language}", language, text))
    return found


def pages() -> list:
    """The blocks of the README, then those of each page in `docs/`."""
    found = blocks((REPO / "README.md").read_text())
    for page in sorted((REPO / "docs").glob("*.md")):
        found += blocks(page.read_text(), f"{page.stem}.")
    return found


# The lines of `serve --sandbox`, by the word that tells them apart.
BANNER = {
    "curl": "curl ",
    "openai-sdk": "from openai ",
    "anthropic-sdk": "from anthropic ",
    "claude-code": "claude ",
    "codex": "codex ",
    "aider": "aider ",
}
BANNER_ENDS = "Stop with Ctrl-C."
# What every answer of the simulated model begins with.
ANSWER = "Sandbox answer from "


def banner_lines(banner: str) -> dict:
    """The line to paste under each heading; a heading that nobody expects fails the run."""
    pasted = re.findall(r"^# .+\n(.+)$", banner, re.M)
    found = {}
    for line in pasted:
        names = [name for name, word in BANNER.items() if word in line]
        if not names:
            raise AssertionError(f"no cell runs this line: {line}")
        found[names[0]] = line
    return found


# What a person adds by being there: a prompt, and a nod to each question.
HEADLESS = {
    "claude": 'case " $* " in *" -p "*) ;; *) set -- "$@" -p "Say hello." ;; esac',
    "codex": 'case "$1" in exec) ;; *) set -- exec "$@" "Say hello." ;; esac; set -- "$@" --skip-git-repo-check',
    "aider": 'set -- "$@" --yes-always --no-git --no-check-update --no-analytics --no-show-model-warnings; '
    'case " $* " in *" --message "*) ;; *) set -- "$@" --message "Say hello." ;; esac',
}


def shims(
    place: pathlib.Path, modules: pathlib.Path, current: pathlib.Path, aider: pathlib.Path, headless: dict
) -> pathlib.Path:
    """The installed clients under the names that people call them by."""
    place.mkdir(parents=True, exist_ok=True)
    commands = {
        "claude": [install.platform_binary(modules, "claude-code")],
        "codex": [modules / "node_modules" / ".bin" / "codex"],
        "aider": [aider, "-m", "aider"],
        "python": [current],
        "python3": [current],
    }
    for name, command in commands.items():
        script = place / name
        call = shlex.join(str(part) for part in command)
        script.write_text(f'#!/bin/sh\n{headless.get(name, ":")}\nexec {call} "$@" < /dev/null\n')
        if name.startswith("python"):
            # A program may come on stdin.
            script.write_text(f'#!/bin/sh\nexec {call} "$@"\n')
        script.chmod(0o755)
    return place


def free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return probe.connect_ex(("127.0.0.1", port)) != 0


class Printed:
    """The README and the documentation as a client: one cell per block."""

    name = "readme"
    stage = "slow"

    def install(self) -> None:
        self.modules, self.sdk_modules = install.npm("agents"), install.npm("current")
        self.current, self.aider = install.venv("current"), install.venv("aider")

    def cells(self, world, pattern) -> list:
        if world.direct:
            return []
        self.gateway = world.binary
        self.found = {f"readme.printed.sandbox.{block.name}": block for block in pages()}
        return [
            {
                "id": id,
                "client": self.name,
                "dialect": "printed",
                "backend": "sandbox",
                "scenario": block.name,
                "kind": "printed",
                "options": {},
                "expect": {},
            }
            for id, block in self.found.items()
            if pattern is None or pattern.search(id)
        ]

    def run(self, cells, world, scratch: pathlib.Path) -> dict:
        place = scratch / "readme"
        place.mkdir()
        bin = shims(place / "bin", self.modules, self.current, self.aider, HEADLESS)
        ports = [port if free(port) else 0 for port in (DATA_PORT, ADMIN_PORT)]
        argv = [
            *(self.gateway, "serve", "--sandbox", "--json"),
            *("--listen", f"127.0.0.1:{ports[0]}", "--admin-listen", f"127.0.0.1:{ports[1]}"),
        ]
        home = place / "home"
        outcomes = {}
        with process.Server("gateway (sandbox)", argv, scratch / "readme-gateway.log", isolation.environment(home)) as up:
            ready = up.ready()
            for cell in cells:
                outcomes[cell["id"]] = self.block(self.found[cell["id"]], ready, bin, place)
        return outcomes

    def block(self, block: Block, ready: dict, bin: pathlib.Path, place: pathlib.Path) -> dict:
        text = KEY_PLACEHOLDER.sub(ready["key"], block.text)
        text = text.replace(f"127.0.0.1:{DATA_PORT}", ready["listen"]).replace(f"localhost:{DATA_PORT}", ready["listen"])
        work = place / block.name
        work.mkdir()
        (work / "node_modules").symlink_to(self.sdk_modules / "node_modules")
        if block.language in ("python", "py"):
            argv = [bin / "python", "-"]
        elif block.language in ("js", "javascript", "mjs"):
            argv = ["node", "--input-type=module", "-"]
        else:
            argv = ["bash", "-euo", "pipefail", "-s"]
        env = isolation.environment(place / f"home-{block.name}", BARDO_KEY=ready["key"])
        env["PATH"] = f"{bin}{os.pathsep}{env['PATH']}"
        done = process.run(argv, timeout=TIMEOUT, cwd=work, env=env, stdin=text)
        # A program that catches its own failure and prints it must not pass for one that worked.
        shown = re.search(r"\"error\"|Traceback|litellm\.\w*Error|API Error", done.stdout)
        ok = done.code == 0 and bool(done.stdout.strip()) and not shown
        return {"ok": ok, "detail": None if ok else done.tail(), "seconds": done.seconds}


class Banner:
    """What `serve --sandbox` prints as a client: one cell per line."""

    name = "banner"
    stage = "slow"

    def install(self) -> None:
        self.modules = install.npm("agents")
        self.current, self.aider = install.venv("current"), install.venv("aider")

    def cells(self, world, pattern) -> list:
        if world.direct:
            return []
        self.gateway = world.binary
        cells = [
            {
                "id": f"banner.printed.sandbox.{name}",
                "client": self.name,
                "dialect": "printed",
                "backend": "sandbox",
                "scenario": name,
                "kind": "printed",
                "options": {},
                "expect": {},
            }
            for name in BANNER
        ]
        return [cell for cell in cells if pattern is None or pattern.search(cell["id"])]

    def run(self, cells, world, scratch: pathlib.Path) -> dict:
        place = scratch / "banner"
        place.mkdir()
        bin = shims(place / "bin", self.modules, self.current, self.aider, {})
        argv = [self.gateway, "serve", "--sandbox", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]
        env = isolation.environment(place / "home")
        outcomes = {}
        with process.Server("gateway (sandbox)", argv, scratch / "banner-gateway.log", env) as up:
            lines = banner_lines(up.printed(BANNER_ENDS))
            for cell in cells:
                name = cell["scenario"]
                outcomes[cell["id"]] = self.line(lines.get(name), bin, place / name)
        return outcomes

    def line(self, line, bin: pathlib.Path, place: pathlib.Path) -> dict:
        if line is None:
            return {"ok": False, "detail": "no such line is printed"}
        work = place / "project"
        work.mkdir(parents=True)
        env = isolation.environment(place / "home")
        env["PATH"] = f"{bin}{os.pathsep}{env['PATH']}"
        done = process.run(["bash", "-euo", "pipefail", "-c", line], timeout=TIMEOUT, cwd=work, env=env)
        # A stream has the words in pieces, but all of them have an end.
        text = done.stdout if "curl" not in line else streamed(done.stdout)
        ok = done.code == 0 and ANSWER in text
        return {"ok": ok, "detail": None if ok else f"{line}\n{done.tail()}", "seconds": done.seconds}


def streamed(text: str) -> str:
    """The words of a Chat Completions stream that came to its end."""
    if not text.rstrip().endswith("data: [DONE]"):
        return ""
    chunks = [json.loads(data) for data in re.findall(r"^data: (\{.*)$", text, re.M)]
    deltas = [choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"]]
    return "".join(deltas)
