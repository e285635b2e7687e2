"""The gateway's own wallet buys from a server that is not ours: x402's middleware and facilitator."""

import contextlib
import json
import pathlib
import shutil

from agents import isolation

from . import chain, install, process, sales, scenarios, services

# The price of an answer, in millionths of USDC.
PRICE = 1_000
MODEL = "claude-sonnet-5"


class Market:
    """A chain, a seller on it, and a gateway whose wallet pays the seller in place of BlockRun."""

    def __init__(self, stack, binary: pathlib.Path, modules: pathlib.Path, place: pathlib.Path) -> None:
        place.mkdir()
        self.chain = chain.Chain(stack, place, 3)
        self.payee, self.payer = self.chain.addresses[1:]
        self.chain.mint(self.payer, sales.RICH)
        self.chain.without_eth(self.payer)
        argv = [binary, "sandbox", "--listen", "127.0.0.1:0", "--json", "--fast"]
        sandbox = stack.enter_context(process.Server("sandbox", argv, place / "sandbox.log")).ready()["listen"]
        argv = [
            *("node", modules / "selling" / "selling.mjs", self.chain.url, self.chain.keys[0]),
            *(self.payee, f"${PRICE / 1e6}", f"http://{sandbox}"),
        ]
        env = isolation.environment(place / "home")
        seller = stack.enter_context(process.Server("seller", argv, place / "seller.log", env)).ready()["listen"]
        wallet = {"base_url": f"http://{seller}/api/v1", "wallet_key": self.chain.keys[2]}
        (place / "gateway.yaml").write_text(json.dumps({"providers": {"blockrun": wallet}}, indent=2) + "\n")
        argv = [
            *(binary, "serve", "--json", "--config", place / "gateway.yaml", "--data-dir", place / "data"),
            *("--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"),
        ]
        server = stack.enter_context(process.Server("gateway", argv, place / "gateway.log", env))
        self.root = f"http://{server.ready()['listen']}"

    def problem(self, cell: dict) -> str | None:
        before = self.chain.transfers(self.payer, self.payee)
        messages = [{"role": "user", "content": cell["prompt"]}]
        body = {"model": MODEL, "messages": messages, "max_tokens": 400, "stream": cell["stream"]}
        url = f"{self.root}/v1/chat/completions"
        headers = {"content-type": "application/json"}
        answer = services.fetch(url, method="POST", body=json.dumps(body).encode(), headers=headers, timeout=30).decode()
        text = streamed(answer) if cell["stream"] else json.loads(answer)["choices"][0]["message"]["content"]
        if text != cell["expect"]["text"]:
            return f"text {text!r}"
        moved = self.chain.transfers(self.payer, self.payee)[len(before) :]
        return None if [units for _, units in moved] == [PRICE] else f"on the chain: {moved}"


def streamed(answer: str) -> str:
    data = [line[6:] for line in answer.splitlines() if line.startswith("data: ") and line != "data: [DONE]"]
    choices = [choice for line in data for choice in json.loads(line)["choices"]]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


class Buyer:
    name, stage = "x402-buyer", "fast"

    def install(self) -> None:
        chain.anvil()
        self.modules = install.npm("x402")

    def cells(self, world, pattern) -> list:
        if world.direct:
            return []
        self.binary = world.binary
        cells = [self.cell(stream) for stream in (False, True)]
        return [cell for cell in cells if pattern is None or pattern.search(cell["id"])]

    def cell(self, stream: bool) -> dict:
        scenario = f"express-exact-{'stream' if stream else 'whole'}"
        name = f"{self.name}.chat.blockrun.{scenario}"
        script = {"steps": [{"text": scenarios.TEXT}]}
        return {
            "id": name,
            "client": self.name,
            "dialect": "chat",
            "backend": "blockrun",
            "scenario": scenario,
            "kind": "paid",
            "stream": stream,
            "prompt": f"[cell {name}] Please answer. bardo-script: " + json.dumps(script, ensure_ascii=False),
            "expect": {"text": scenarios.TEXT},
            "options": {},
        }

    def run(self, cells, world, scratch: pathlib.Path) -> dict:
        # Node finds packages from where the importing file lies.
        programs = self.modules / "selling"
        programs.mkdir(exist_ok=True)
        shutil.copy(sales.HERE / "sdk" / "js" / "selling.mjs", programs)
        outcomes = {}
        with contextlib.ExitStack() as stack:
            market = Market(stack, self.binary, self.modules, scratch / self.name)
            for cell in cells:
                try:
                    problem = market.problem(cell)
                except OSError as error:
                    problem = f"{error}: {getattr(error, 'fp', None) and error.read().decode()[:800]}"
                outcomes[cell["id"]] = {"ok": problem is None, "detail": problem}
        return outcomes


CLIENTS = [Buyer()]
