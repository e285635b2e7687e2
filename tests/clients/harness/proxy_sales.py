"""`bardo-inference` pays the gateway's own sale, on a chain of its own.

Each cell has a wallet and a proxy of its own. The proxy's count of what was spent is held against
the chain, also for streams, whose answers cannot say what they cost.
"""

import json
import pathlib
import time
import urllib.request

from agents import isolation

from . import process, sales

PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}
# The proxy asks the chain after one second, and then less and less often.
KNOWN_SECONDS = 30


class Proxy:
    """The program of cells: one proxy after the other, with one request each."""

    def install(self) -> None:
        pass

    def run(self, cells, place: pathlib.Path) -> process.Finished:
        rows, began = [], time.monotonic()
        for number, cell in enumerate(cells):
            try:
                row = self.buy(cell, place / f"proxy-{number}")
            except (OSError, RuntimeError, KeyError, ValueError) as error:
                row = {"error": f"{type(error).__name__}: {error}"}
            rows.append(json.dumps({"id": cell["id"], **row}))
        return process.Finished(0, "\n".join(rows), "", time.monotonic() - began, False)

    def buy(self, cell: dict, place: pathlib.Path) -> dict:
        place.mkdir()
        scheme = "exact" if cell["scheme"] == "exact" else "auto"
        argv = [
            *(self.binary.parent / "bardo-inference", "serve", "--port", "0"),
            *("--endpoint", cell["root"], "--rpc", cell["rpc"], "--scheme", scheme),
        ]
        env = isolation.environment(place / "home", BARDO_INFERENCE_KEY=cell["key"])
        with process.Server("bardo-inference", argv, place / "proxy.log", env) as proxy:
            printed = proxy.printed("export OPENAI_BASE_URL")
            words = dict(word.split("=", 1) for word in printed.split() if "=" in word)
            root, token = words["ANTHROPIC_BASE_URL"], words["ANTHROPIC_AUTH_TOKEN"]
            answer, headers = post(root + PATHS[cell["dialect"]], token, request(cell))
            return {
                "status": 200,
                "text": text(cell["dialect"], cell["stream"], answer),
                "payment": headers.get("x-bardo-payment"),
                "counted": self.counted(root, token),
            }

    def counted(self, root: str, token: str) -> int:
        """What the proxy counts, once nothing is open any more."""
        deadline = time.monotonic() + KNOWN_SECONDS
        while True:
            spend = json.loads(post(f"{root}/bardo/spend", token, {})[0])
            if float(spend["open"]) == 0 or time.monotonic() > deadline:
                return round(float(spend["session"]) * 1e6)
            time.sleep(0.1)


def post(url: str, token: str, body: dict) -> tuple:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    asked = urllib.request.Request(url, data=json.dumps(body).encode(), method="POST", headers=headers)
    with opener.open(asked, timeout=60) as answer:
        return answer.read().decode(), answer.headers


def request(cell: dict) -> dict:
    body = {"model": cell["model"], "stream": cell["stream"]}
    if cell["dialect"] == "responses":
        return {**body, "input": cell["prompt"], "max_output_tokens": 400}
    limit = "max_tokens" if cell["dialect"] == "messages" else "max_completion_tokens"
    return {**body, limit: 400, "messages": [{"role": "user", "content": cell["prompt"]}]}


def text(dialect: str, is_stream: bool, answer: str) -> str:
    if is_stream:
        data = [line[6:] for line in answer.splitlines() if line.startswith("data: ") and line != "data: [DONE]"]
        return "".join(piece(dialect, json.loads(line)) for line in data)
    told = json.loads(answer)
    if dialect == "chat":
        return told["choices"][0]["message"]["content"]
    if dialect == "messages":
        return "".join(part.get("text", "") for part in told["content"])
    parts = [part for item in told["output"] for part in item.get("content") or []]
    return "".join(part.get("text", "") for part in parts)


def piece(dialect: str, event: dict) -> str:
    if dialect == "chat":
        return "".join(choice["delta"].get("content") or "" for choice in event["choices"])
    if dialect == "messages":
        return event.get("delta", {}).get("text", "") if event["type"] == "content_block_delta" else ""
    return event["delta"] if event["type"] == "response.output_text.delta" else ""


class ProxyPayers(sales.Payers):
    def run(self, cells, world, scratch: pathlib.Path) -> dict:
        self.program.binary = self.binary
        return super().run(cells, world, scratch)


PLAN = {"bardo-inference": (("exact", "upto", "permit"), sales.DIALECTS)}
CLIENTS = [ProxyPayers("x402-proxy", PLAN, Proxy())]
