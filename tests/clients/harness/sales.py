"""Clients of others pay for single requests by x402, on a chain of their own.

Each cell has a wallet of its own. Its program tells the status, the text and the payment's id;
the harness then holds the gateway's word about the payment against the chain.
"""

import contextlib
import json
import pathlib
import shutil
import time

from agents import isolation

from . import chain, clients, install, money, process, scenarios, services

HERE = pathlib.Path(__file__).resolve().parent.parent
# 10 USDC for each payer.
RICH = 10_000_000
SETTLEMENT_SECONDS = 20
DIALECTS = ("chat", "messages", "responses")
# What pays, by which scheme, and in which dialects. `permit`: the payer has no allowance for
# Permit2 and signs one (EIP-2612), and the gateway's settlement takes it along.
JS = {
    "fetch": (("exact", "upto", "permit"), DIALECTS),
    "axios": (("exact", "upto"), DIALECTS),
    "openai": (("upto",), ("chat", "responses")),
}
LEGACY = {"fetch-v1": (("exact",), DIALECTS)}
PYTHON = {
    "httpx": (("exact", "upto", "permit"), DIALECTS),
    "openai": (("upto",), ("chat", "responses")),
    "blockrun": (("exact", "upto", "permit"), ("chat",)),
}
RUST = {"reqwest": (("exact", "upto", "permit"), DIALECTS)}


def config(sandbox: str, node: chain.Chain) -> dict:
    payments = {
        "enabled": True,
        "settlement_key": node.keys[0],
        "pay_to": node.addresses[1],
        "rpc_urls": [node.url],
        "rpc_allow_private": True,
        "confirmations": 1,
    }
    return {**money.config(sandbox), "payments": payments}


class Till:
    """A gateway that sells to anyone who pays."""

    def __init__(self, stack, binary: pathlib.Path, place: pathlib.Path, payers: int) -> None:
        place.mkdir()
        self.chain = chain.Chain(stack, place, payers + 2)
        self.payee = self.chain.addresses[1]
        argv = [binary, "sandbox", "--listen", "127.0.0.1:0", "--json", "--fast"]
        self.sandbox = stack.enter_context(process.Server("sandbox", argv, place / "sandbox.log")).ready()["listen"]
        (place / "gateway.yaml").write_text(json.dumps(config(self.sandbox, self.chain), indent=2) + "\n")
        argv = [
            *(binary, "serve", "--json", "--config", place / "gateway.yaml", "--data-dir", place / "data"),
            *("--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"),
        ]
        env = isolation.environment(place / "home")
        server = stack.enter_context(process.Server("gateway", argv, place / "gateway.log", env))
        self.root = f"http://{server.ready()['listen']}"

    def equip(self, number: int, cell: dict) -> None:
        """Gives a cell its wallet: USDC, an allowance where it shall have one, and no ETH."""
        address = self.chain.addresses[number]
        self.chain.mint(address, RICH)
        if cell["scheme"] == "upto":
            self.chain.approve_permit2(address, RICH)
        self.chain.without_eth(address)
        cell.update(payer=address, key=self.chain.keys[number], rpc=self.chain.url, root=self.root)

    def settled(self, payment: str) -> dict:
        """What the gateway says of a payment, once it is settled."""
        deadline = time.monotonic() + SETTLEMENT_SECONDS
        pause = 0.05
        while True:
            found = json.loads(services.fetch(f"{self.root}/v1/payments/{payment}"))
            if found["status"] == "settled" or time.monotonic() > deadline:
                return found
            time.sleep(pause)

    def problems(self, cell: dict, told: dict) -> list:
        """What is wrong with a cell, by its program, the gateway and the chain."""
        if told.get("error"):
            return [told["error"]]
        out = []
        if told["status"] != 200:
            out.append(f"status {told['status']}")
        if told["text"] != cell["expect"]["text"]:
            out.append(f"text {told['text']!r}")
        if not told["payment"]:
            return [*out, "no header x-bardo-payment"]
        payment = self.settled(told["payment"])
        wanted = "exact" if cell["scheme"] == "exact" else "upto"
        if payment["status"] != "settled" or payment["scheme"] != wanted:
            return [*out, f"the payment: {payment}"]
        units = round(float(payment["settled_usd"]) * 1e6)
        moved = self.chain.transfers(cell["payer"], self.payee)
        if units <= 0 or moved != [(payment["transaction"], units)]:
            out.append(f"the payment: {payment}; on the chain: {moved}")
        if told.get("counted", units) != units:
            out.append(f"the payer counts {told['counted']}, {units} were settled")
        left = self.chain.balance(cell["payer"])
        if left != RICH - units:
            out.append(f"the payer has {left}, {units} were settled")
        return out


class Payers:
    """Programs with paying clients, and a cell for each client, scheme, dialect and way to answer."""

    stage = "fast"

    def __init__(self, name: str, plan: dict, program) -> None:
        self.name = name
        self.plan = plan
        self.program = program

    def install(self) -> None:
        # A missing node fails the run before anything starts: nothing else proves these cells.
        chain.anvil()
        self.program.install()

    def cells(self, world, pattern) -> list:
        if world.direct:
            return []
        self.binary = world.binary
        cells = [
            self.cell(client, scheme, dialect, stream)
            for client, (schemes, dialects) in self.plan.items()
            for scheme in schemes
            for dialect in dialects
            for stream in (False, True)
        ]
        return [cell for cell in cells if pattern is None or pattern.search(cell["id"])]

    def cell(self, client: str, scheme: str, dialect: str, stream: bool) -> dict:
        scenario = f"{client}-{scheme}-{'stream' if stream else 'whole'}"
        place = money.PLACES[dialect]
        name = f"{self.name}.{dialect}.{place.backend}.{scenario}"
        script = {"steps": [{"text": scenarios.TEXT}]}
        return {
            "id": name,
            "client": self.name,
            "dialect": dialect,
            "backend": place.backend,
            "scenario": scenario,
            "kind": "paid",
            "via": client,
            "scheme": scheme,
            "stream": stream,
            "model": place.model,
            "prompt": f"[cell {name}] Please answer. bardo-script: " + json.dumps(script, ensure_ascii=False),
            "expect": {"text": scenarios.TEXT},
            "options": {},
        }

    def run(self, cells, world, scratch: pathlib.Path) -> dict:
        place = scratch / self.name
        with contextlib.ExitStack() as stack:
            till = Till(stack, self.binary, place, len(cells))
            for number, cell in enumerate(cells, 2):
                till.equip(number, cell)
            before = till.chain.balance(till.payee)
            done = self.program.run(cells, place)
            (place / "program.log").write_text(done.stdout + done.stderr)
            told = {row["id"]: row for row in map(json.loads, filter(is_row, done.stdout.splitlines()))}
            outcomes, spent = {}, 0
            for cell in cells:
                row = told.get(cell["id"], {"error": f"not reached: {done.tail()}"})
                found = till.problems(cell, row)
                spent += RICH - till.chain.balance(cell["payer"])
                outcomes[cell["id"]] = {"ok": not found, "detail": "\n".join(found) or None, "seconds": row.get("seconds")}
            received = till.chain.balance(till.payee) - before
            if received != spent:
                raise RuntimeError(f"the payers spent {spent}, the payee received {received}")
        return outcomes


def is_row(line: str) -> bool:
    return line.startswith('{"id"')


class JavaScript:
    def __init__(self, package: str, program: str) -> None:
        self.package = package
        self.program = program

    def install(self) -> None:
        self.place = install.npm(self.package)

    def run(self, cells, place: pathlib.Path) -> process.Finished:
        programs = self.place / "programs"
        shutil.rmtree(programs, ignore_errors=True)
        shutil.copytree(HERE / "sdk" / "js", programs)
        argv = ["node", programs / self.program]
        env = isolation.environment(place / "program-home")
        return process.run(argv, timeout=clients.PROGRAM_TIMEOUT, stdin=json.dumps(cells), cwd=programs, env=env)


class Python:
    def install(self) -> None:
        self.python = install.venv("x402")

    def run(self, cells, place: pathlib.Path) -> process.Finished:
        boot = clients.BOOT.replace("import main; main.main()", "import paying; paying.main()")
        argv = [*clients.isolated(self.python), "-c", boot.format(place=str(HERE / "sdk" / "python"))]
        env = isolation.environment(place / "program-home")
        return process.run(argv, timeout=clients.PROGRAM_TIMEOUT, stdin=json.dumps(cells), cwd=place, env=env)


class Rust:
    def install(self) -> None:
        self.binary = install.cargo("x402")

    def run(self, cells, place: pathlib.Path) -> process.Finished:
        env = isolation.environment(place / "program-home")
        return process.run([self.binary], timeout=clients.PROGRAM_TIMEOUT, stdin=json.dumps(cells), cwd=place, env=env)


CLIENTS = [
    Payers("x402-js", JS, JavaScript("x402", "paying.mjs")),
    Payers("x402-legacy", LEGACY, JavaScript("x402-legacy", "paying-v1.mjs")),
    Payers("x402-py", PYTHON, Python()),
    Payers("x402-rust", RUST, Rust()),
]
