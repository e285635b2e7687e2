"""Keys with money: the SDKs, and two agents, against billed backends and real books.

Each client of this kind has a sandbox, a gateway and a data folder to itself. Its keys are
made by the command line beside the running server, as an operator makes them. Afterwards
the provider's journal must hold as many requests as the cell may have caused, and the
ledger one charge per request, adding up to what is spent.
"""

import collections
import contextlib
import dataclasses
import json
import pathlib
import time

from agents import aider, claude_code, harbor, isolation

from . import clients, install, process, scenarios, services, targets

SECRET = "sandbox-upstream-key"
STORY = " ".join(f"Sentence {number} keeps the stream going." for number in range(1, 401))


@dataclasses.dataclass(frozen=True)
class Place:
    """A billed backend and the model that is asked for in one dialect."""

    backend: str
    service: str
    model: str


# Relayed in the callers' own dialects: what an SDK makes of a translation is the other stage's.
PLACES = {
    "chat": Place("openai", "openai", "gpt-5.5"),
    "responses": Place("openai", "openai", "gpt-6-sol"),
    "messages": Place("openrouter", "openrouter", "claude-sonnet-5-5"),
}


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A key, and how many requests the provider may see of it."""

    deposit: str | None
    reaches: int | None
    scopes: tuple = ()
    dialects: tuple = ("chat", "responses", "messages")


RPM = 30
SCENARIOS = {
    "receipt": Scenario("1", 1),
    "stream": Scenario("1", 2),
    "funds": Scenario("0.02", 1),
    "empty": Scenario(None, 0),
    # As many as fit into the limit, and one after the wait.
    "rate-limit": Scenario("5", None, (f"rpm={RPM}",)),
    "spend-cap": Scenario("5", 0, ("spend-day=0.02",)),
    "revoked": Scenario("1", 1),
    "read-only": Scenario("1", 0, ("read-only",)),
    # Anthropic's dialect demands a limit, so no limit is added there.
    "cut-off": Scenario("0.08", 1, dialects=("chat", "responses")),
    "idempotency": Scenario("1", 1),
    "sdk-retry": Scenario("1", 2),
    "sdk-timeout": Scenario("1", 2),
}


def config(sandbox: str) -> dict:
    """One backend for each model: where there is another, the gateway asks that one instead."""
    at = f"http://{sandbox}"

    def own(dialect: str, api: str) -> dict:
        entry = {"provider": "openai", "api_key": SECRET, "base_url": f"{at}/openai/v1", "bill": True}
        price = {"input_per_million": 5, "output_per_million": 30}
        return {**entry, "models": [PLACES[dialect].model], "api": api, "price": price}

    return {
        # Failures are scripted here, one by one, and none shall close the way to the next.
        "upstream": {"breaker": {"enabled": False}},
        "providers": {
            "openrouter": {
                "api_key": SECRET,
                "base_url": f"{at}/openrouter/api/v1",
                "models": [PLACES["messages"].model],
            },
            "direct": {"keys": [own("chat", "chat"), own("responses", "responses")]},
        },
    }


@dataclasses.dataclass
class Shop:
    """A gateway that charges."""

    binary: pathlib.Path
    data: pathlib.Path
    sandbox: str
    listen: str
    admin: str

    def verb(self, *argv) -> dict:
        home = isolation.environment(self.data / "home")
        done = process.run([self.binary, *argv, "--json", "--data-dir", self.data], timeout=30, env=home)
        if done.code != 0:
            raise RuntimeError(f"{argv}: {done.tail()}")
        return json.loads(done.stdout)

    def key(self, scenario: Scenario) -> dict:
        argv = ["keys", "create"]
        if scenario.deposit:
            argv += ["--deposit-usd", scenario.deposit]
        for scope in scenario.scopes:
            argv += ["--scope", scope]
        return self.verb(*argv)

    def admin_json(self, path: str) -> dict:
        return json.loads(services.fetch(f"http://{self.admin}/admin/{path}"))

    def problems(self, key: dict) -> list:
        """What the books hold against an account."""
        charges = collections.defaultdict(list)
        for posting in self.admin_json(f"balances/{key['id']}/ledger")["postings"]:
            if posting["kind"] == "charge" and posting["book"].startswith("customer:"):
                charges[posting["reference"]].append(-posting["amount_micro"])
        out = [f"{reference} was charged {len(rows)} times" for reference, rows in charges.items() if len(rows) > 1]
        micro = self.admin_json(f"balances/{key['id']}")["micro"]
        charged = sum(amount for rows in charges.values() for amount in rows)
        if charged != micro["spent"]:
            out.append(f"the ledger's charges come to {charged}, the balance says {micro['spent']}")
        if micro["spent"] + micro["held"] + micro["available"] != micro["deposited"]:
            out.append(f"the balance does not add up: {micro}")
        return out


@contextlib.contextmanager
def shop(binary: pathlib.Path, place: pathlib.Path):
    """The servers of one client, up and ready; afterwards the binary checks its own books."""
    place.mkdir()
    with contextlib.ExitStack() as stack:
        argv = [binary, "sandbox", "--listen", "127.0.0.1:0", "--json", "--fast"]
        sandbox = stack.enter_context(process.Server("sandbox", argv, place / "sandbox.log"))
        at = sandbox.ready()["listen"]
        (place / "gateway.yaml").write_text(json.dumps(config(at), indent=2) + "\n")
        argv = [
            *(binary, "serve", "--json", "--config", place / "gateway.yaml", "--data-dir", place / "data"),
            *("--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"),
        ]
        env = isolation.environment(place / "home")
        ready = stack.enter_context(process.Server("gateway", argv, place / "gateway.log", env)).ready()
        yield Shop(binary, place / "data", at, ready["listen"], ready["admin_listen"])


class Money:
    """Cells with a key each, run by another client's program."""

    def __init__(self, sdks) -> None:
        self.name = f"money-{sdks.name.split('-')[0]}"
        self.stage = "fast"
        self.sdks = sdks

    def install(self) -> None:
        self.sdks.install()

    def cells(self, world, pattern) -> list:
        if world.direct:
            return []
        self.binary = world.binary
        cells = [
            self.cell(dialect, name)
            for dialect in PLACES
            for name, scenario in SCENARIOS.items()
            if dialect in scenario.dialects
        ]
        return [cell for cell in cells if pattern is None or pattern.search(cell["id"])]

    def cell(self, dialect: str, scenario: str) -> dict:
        place = PLACES[dialect]
        name = f"{self.name}.{dialect}.{place.backend}.{scenario}"
        text = STORY if scenario == "cut-off" else scenarios.TEXT
        script = {"steps": [{"text": text}]}
        return {
            "id": name,
            "client": self.name,
            "dialect": dialect,
            "backend": place.backend,
            "scenario": scenario,
            "kind": "money",
            "model": place.model,
            "service": place.service,
            "rpm": RPM,
            "prompt": f"[cell {name}] Please answer. bardo-script: " + json.dumps(script, ensure_ascii=False),
            "expect": {"text": text},
            "options": {"request_id": True, "usage_on_finish": False},
            "direct": False,
        }

    def run(self, cells, world, scratch: pathlib.Path) -> dict:
        with shop(self.binary, scratch / self.name) as books:
            keys = {cell["id"]: books.key(SCENARIOS[cell["scenario"]]) for cell in cells}
            for cell in cells:
                key = keys[cell["id"]]
                root = f"http://{books.listen}"
                cell["root"], cell["admin"], cell["sandbox"] = root, f"http://{books.admin}", f"http://{books.sandbox}"
                cell["base_url"] = root if cell["dialect"] == "messages" else f"{root}/v1"
                cell["api_key"], cell["key_id"] = key["key"], key["id"]
            outcomes = self.sdks.run(cells, world, scratch)
            from_provider = services.Journal(books.sandbox).entries()
            books.verb("balance", "verify")
            for cell in cells:
                found = books.problems(keys[cell["id"]]) + journal_problems(cell, keys, from_provider)
                if found:
                    outcome = outcomes[cell["id"]]
                    outcome["detail"] = "\n".join(filter(None, [outcome["detail"], *found]))
                    outcome["ok"] = False
        return outcomes


def journal_problems(cell: dict, keys: dict, entries: list) -> list:
    own = [entry for entry in entries if f"[cell {cell['id']}]" in (entry.get("body") or "")]
    reaches = SCENARIOS[cell["scenario"]].reaches
    out = []
    if reaches is not None and len(own) != reaches:
        out.append(f"journal: {len(own)} requests reached the provider, wanted {reaches}")
    secret = keys[cell["id"]]["key"]
    if any(secret in json.dumps(entry) for entry in own):
        out.append("journal: the caller's key reached the provider")
    return out


class MoneyAgents:
    """A session of Claude Code and one of Aider, each with a key of its own that pays for it."""

    name = "money-agents"
    stage = "slow"
    sessions = {"claude-code": "messages", "aider": "chat"}

    def install(self) -> None:
        self.modules, self.python = install.npm("agents"), install.venv("aider")

    def cells(self, world, pattern) -> list:
        if world.direct:
            return []
        self.binary = world.binary
        entries = []
        for agent, dialect in self.sessions.items():
            name = f"{self.name}.{dialect}.openrouter.{agent}"
            steps = claude_code.steps() if agent == "claude-code" else aider.steps()
            # Not every model that is asked for a title thinks.
            script = {"steps": [{key: value for key, value in step.items() if key != "think"} for step in steps]}
            entries.append(
                {
                    "id": name,
                    "client": self.name,
                    "dialect": dialect,
                    "backend": "openrouter",
                    "scenario": agent,
                    "kind": "money",
                    "model": PLACES["messages"].model,
                    "prompt": f"[cell {name}] Do it. bardo-script: " + json.dumps(script),
                    "turns": len(steps),
                    "options": {},
                    "expect": {},
                }
            )
        return [entry for entry in entries if pattern is None or pattern.search(entry["id"])]

    def run(self, cells, world, scratch: pathlib.Path) -> dict:
        outcomes = {}
        with shop(self.binary, scratch / self.name) as books:
            for cell in cells:
                key = books.key(Scenario("20", None))
                place = scratch / cell["id"]
                work = place / "project"
                work.mkdir(parents=True)
                (work / "notes.txt").write_text("The harbor opens at six.\n")
                try:
                    done = self.session(cell, f"http://{books.listen}", key["key"], place / "home", work)
                    (place / "stdout.log").write_text(done.stdout)
                    (place / "stderr.log").write_text(done.stderr)
                    (claude_code if cell["scenario"] == "claude-code" else aider).check(done, work)
                    paid(books, key, cell["turns"])
                    outcomes[cell["id"]] = {"ok": True, "detail": None, "seconds": done.seconds}
                except (AssertionError, OSError, KeyError, ValueError) as error:
                    outcomes[cell["id"]] = {"ok": False, "detail": f"{type(error).__name__}: {error}"}
            books.verb("balance", "verify")
        return outcomes

    def session(self, cell: dict, root: str, key: str, home: pathlib.Path, work: pathlib.Path):
        prompt = cell["prompt"].replace(claude_code.PROJECT, str(work))
        if cell["scenario"] == "claude-code":
            return claude_code.start(self.modules, root, key, cell["model"], prompt, home, work)
        harbor.prepare(work)
        return aider.start(aider.started(self.python), root, f"{root}/v1", key, f"openai/{cell['model']}", prompt, home, work)


def paid(books: Shop, key: dict, turns: int) -> None:
    """The receipts of a session, its usage, its ledger and its balance all say the same."""

    def read(path: str) -> dict:
        return json.loads(services.fetch(f"http://{books.listen}{path}", headers={"x-api-key": key["key"]}))

    # An agent may leave a request behind, which is settled a moment after it.
    until = time.monotonic() + 5
    while read("/v1/balance")["micro"]["held"] and time.monotonic() < until:
        time.sleep(0.02)
    assert not books.problems(key), books.problems(key)
    postings = books.admin_json(f"balances/{key['id']}/ledger")["postings"]
    charged = [row for row in postings if row["kind"] == "charge" and row["book"].startswith("customer:")]
    receipts = [read(f"/v1/receipts/{row['reference']}") for row in charged]
    assert len(receipts) >= turns, f"{len(receipts)} receipts for {turns} turns"
    by_receipts = sum(round(float(receipt["cost"]["charge"]) * 1e6) for receipt in receipts)
    balance = read("/v1/balance")["micro"]
    assert balance["spent"] == by_receipts > 0, f"receipts come to {by_receipts}, spent are {balance['spent']}"
    assert balance["held"] == 0, f"{balance['held']} are still held"
    total = read("/v1/usage")["total"]
    assert round(float(total["charge"]) * 1e6) == by_receipts, f"usage says {total}"


CLIENTS = [
    Money(clients.PythonSdks("py-current", "current")),
    Money(clients.JavaScriptSdks("js-money", "current", "main.mjs", ())),
    MoneyAgents(),
]
