"""Two backends and a caller who pays: one dies, traffic moves, and comes back; hints through the SDKs.

Each client of this kind has two sandboxes and a gateway to itself. `blockrun` is asked first and
runs in a process that a cell may kill and start again; `openrouter` is behind it. Each cell has a
key of its own, so what `/v1/events` tells of it is known: one `inference.provider_fallback` for
each time that a receipt shows another backend behind a failed one, and never another.
"""

import collections
import contextlib
import http.server
import json
import os
import pathlib
import signal
import threading
import urllib.request

from agents import isolation

from . import clients, install, money, process, scenarios, services

SCHEMA = install.REPO / "crates/bardo-profile/data/schemas/heartbeat_decision.json"
NAMED = "claude-sonnet-5-5"
AUTOMATIC = "bardo/auto"
# BlockRun holds the models of one maker alone to a schema; others are only told of it.
SHAPED = "gpt-5.4"
# The subsystem that is sent to `blockrun` first. It has no profile, so scripted texts arrive as
# they are.
SUBSYSTEM = "context"
# For a test a dead backend is looked at again soon, but not before a slow client has asked twice.
OPEN_FOR = "2s"


class Scenario:
    """A model to ask for, and how often traffic has to move; `None`: as often as receipts say, and at all."""

    def __init__(self, model: str, moves: int | None, expect: dict | None = None) -> None:
        self.model = model
        self.moves = moves
        self.expect = expect or {"text": scenarios.TEXT}


def least(schema: dict):
    """What the simulated model answers where it is held to a schema, and not where it is not."""
    if "enum" in schema:
        return schema["enum"][0]
    if schema["type"] == "object":
        return {name: least(schema["properties"][name]) for name in schema["required"]}
    return {"string": "", "number": 0, "array": []}[schema["type"]]


def every_scenario() -> dict:
    return {
        "moves": Scenario(AUTOMATIC, 2),
        "outage": Scenario(NAMED, None),
        "hints-body": Scenario(AUTOMATIC, 0),
        "hints-headers": Scenario(AUTOMATIC, 0),
        "privacy": Scenario(AUTOMATIC, 0),
        "malformed": Scenario(AUTOMATIC, 0),
        "schema": Scenario(SHAPED, 0, {"value": least(json.loads(SCHEMA.read_text()))}),
    }


def config(first: str, second: str) -> dict:
    return {
        "upstream": {"breaker": {"open_for": OPEN_FOR, "open_for_max": OPEN_FOR}, "probe_every": "0s"},
        "providers": {
            "blockrun": {"api_key": "brk_sandbox", "base_url": f"http://{first}/blockrun/v1"},
            "openrouter": {"api_key": money.SECRET, "base_url": f"http://{second}/openrouter/api/v1"},
        },
        "inference": {
            "provider_order": ["blockrun", "openrouter"],
            "routes": {SUBSYSTEM: ["blockrun", "openrouter"]},
        },
    }


class Mortal:
    """A sandbox that a cell kills, and starts again at the same address, by `POST /kill` and `/revive`."""

    def __init__(self, binary: pathlib.Path, place: pathlib.Path) -> None:
        self.binary, self.place = binary, place
        self.listen, self.lives = "127.0.0.1:0", 0
        self.revive()
        mortal = self

        class Control(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                {"/kill": mortal.kill, "/revive": mortal.revive}[self.path]()
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_parts) -> None:
                pass

        self.control = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Control)
        threading.Thread(target=self.control.serve_forever, daemon=True).start()

    def revive(self) -> None:
        self.lives += 1
        argv = [self.binary, "sandbox", "--listen", self.listen, "--json", "--fast"]
        self.server = process.Server("first sandbox", argv, self.place / f"first-{self.lives}.log")
        self.listen = self.server.ready()["listen"]

    def kill(self) -> None:
        """At once, as a crash does: no connection is closed politely."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.server.child.pid, signal.SIGKILL)
        self.server.child.wait()

    def __enter__(self) -> "Mortal":
        return self

    def __exit__(self, *_exc) -> None:
        self.control.shutdown()
        self.server.stop()


class Heard:
    """What `/v1/events` tells the holder of one key, from before its first request."""

    def __init__(self, root: str, key: str) -> None:
        self.events: list = []
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        asked = urllib.request.Request(f"{root}/v1/events", headers={"x-api-key": key})
        self.feed = opener.open(asked, timeout=120)
        if not self.feed.readline().startswith(b": connected"):
            raise RuntimeError("the events do not begin with their greeting")
        self.thread = threading.Thread(target=self._follow, daemon=True)
        self.thread.start()

    def _follow(self) -> None:
        name = None
        with contextlib.suppress(OSError, ValueError):
            for line in self.feed:
                field, _, value = line.decode().rstrip("\n").partition(": ")
                if field == "event":
                    name = value
                elif field == "data":
                    self.events.append((name, json.loads(value)))

    def problems(self, scenario: Scenario) -> list:
        """Compares what was told with the receipts, once the server has closed the feed."""
        self.thread.join(10)
        told = collections.Counter(event["request_id"] for name, event in self.events if name.endswith("provider_fallback"))
        receipts = [event for name, event in self.events if name == "inference.completed"]
        out = []
        for receipt in receipts:
            tried = [attempt["provider"] for attempt in receipt["attempts"]]
            due = sum(a != b for a, b in zip(tried, tried[1:]))
            if told.pop(receipt["request_id"], 0) != due:
                out.append(f"events: not one fallback for each of {tried}")
        if told:
            out.append(f"events: fallbacks of requests that were not answered: {dict(told)}")
        moves = sum(len(receipt["attempts"]) - 1 for receipt in receipts)
        if moves != scenario.moves if scenario.moves is not None else moves < 2:
            out.append(f"events: traffic moved {moves} times, wanted {scenario.moves or 'at least 2'}")
        return out


class Routing:
    """Cells with a key each, run by another client's program."""

    stage = "fast"

    def __init__(self, name: str, sdks, dialects: tuple) -> None:
        self.name, self.sdks, self.dialects = name, sdks, dialects

    def install(self) -> None:
        self.sdks.install()

    def cells(self, world, pattern) -> list:
        if world.direct:
            return []
        self.binary = world.binary
        self.scenarios = every_scenario()
        cells = [self.cell(dialect, scenario) for dialect in self.dialects for scenario in self.scenarios]
        return [cell for cell in cells if pattern is None or pattern.search(cell["id"])]

    def cell(self, dialect: str, name: str) -> dict:
        scenario = self.scenarios[name]
        id = f"{self.name}.{dialect}.pair.{name}"
        text = scenario.expect.get("text")
        script = " bardo-script: " + json.dumps({"steps": [{"text": text}]}, ensure_ascii=False) if text else ""
        return {
            "id": id,
            "client": self.name,
            "dialect": dialect,
            "backend": "pair",
            "scenario": name,
            "kind": "routing",
            "model": scenario.model,
            "service": "blockrun",
            "subsystem": SUBSYSTEM,
            "prompt": f"[cell {id}] Please answer.{script}",
            "expect": scenario.expect,
            "options": {"request_id": True, "usage_on_finish": False},
            "direct": False,
        }

    def run(self, cells, world, scratch: pathlib.Path) -> dict:
        place = scratch / self.name
        place.mkdir()
        with contextlib.ExitStack() as stack:
            first = stack.enter_context(Mortal(self.binary, place))
            argv = [self.binary, "sandbox", "--listen", "127.0.0.1:0", "--json", "--fast"]
            second = stack.enter_context(process.Server("second sandbox", argv, place / "second.log")).ready()["listen"]
            (place / "gateway.yaml").write_text(json.dumps(config(first.listen, second), indent=2) + "\n")
            argv = [
                *(self.binary, "serve", "--json", "--config", place / "gateway.yaml", "--data-dir", place / "data"),
                *("--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"),
            ]
            server = process.Server("gateway", argv, place / "gateway.log", isolation.environment(place / "home"))
            ready = stack.enter_context(server).ready()
            books = money.Shop(self.binary, place / "data", first.listen, ready["listen"], ready["admin_listen"])
            root = f"http://{books.listen}"
            keys = {cell["id"]: books.key(money.Scenario("5", None)) for cell in cells}
            heard = {id: Heard(root, key["key"]) for id, key in keys.items()}
            for cell in cells:
                cell["root"], cell["sandbox"] = root, f"http://{first.listen}"
                cell["control"] = "http://{}:{}".format(*first.control.server_address)
                cell["base_url"] = root if cell["dialect"] == "messages" else f"{root}/v1"
                cell["api_key"] = keys[cell["id"]]["key"]
            outcomes = self.sdks.run(cells, world, scratch)
            sent = services.Journal(second).entries() + services.Journal(first.listen).entries()
            found = {cell["id"]: books.problems(keys[cell["id"]]) for cell in cells}
            # Events are over when their server is.
            server.stop()
            for cell in cells:
                problems = found[cell["id"]] + heard[cell["id"]].problems(self.scenarios[cell["scenario"]])
                problems += leaks(cell, keys[cell["id"]]["key"], sent)
                if problems:
                    outcome = outcomes[cell["id"]]
                    outcome["detail"] = "\n".join(filter(None, [outcome["detail"], *problems]))
                    outcome["ok"] = False
            books.verb("balance", "verify")
        return outcomes


def leaks(cell: dict, key: str, entries: list) -> list:
    """No hint and no key reaches a provider, and what is refused reaches nobody."""
    own = [entry for entry in entries if f"[cell {cell['id']}]" in (entry.get("body") or "")]
    out = []
    if cell["scenario"] in ("privacy", "malformed") and own:
        out.append(f"journal: {len(own)} requests reached a provider")
    if any(key in json.dumps(entry) for entry in own):
        out.append("journal: the caller's key reached a provider")
    for entry in own:
        headers = [name for name, _ in entry["headers"] if name.lower().startswith("x-bardo")]
        if headers or "bardo" in json.loads(entry["body"]):
            out.append("journal: the caller's hints reached a provider")
    return out


CLIENTS = [
    Routing("routing-py", clients.PythonSdks("py-current", "current"), ("chat", "responses", "messages")),
    Routing(
        "routing-js",
        clients.JavaScriptSdks("js-routing", "current", "main.mjs", ()),
        ("chat", "responses", "messages"),
    ),
    Routing(
        "routing-vercel",
        clients.JavaScriptSdks("vercel-routing", "current", "vercel.mjs", ()),
        ("compatible", "messages"),
    ),
]
