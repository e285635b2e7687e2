"""Pays by x402 with packages of others: the protocol's own, below the OpenAI SDK, and BlockRun's.

Reads one JSON plan on stdin and writes one JSON line per cell:
`{"id", "status", "text", "payment", "seconds"}`, or an `error`.
"""

import asyncio
import json
import sys
import time
import traceback

import blockrun_llm
import httpx
import openai
from blockrun_llm import x402 as blockrun_x402
from eth_account import Account
from x402 import x402Client
from x402.http.clients.httpx import x402HttpxClient
from x402.mechanisms.evm.exact.client import ExactEvmScheme
from x402.mechanisms.evm.signers import EthAccountSigner, EthAccountSignerWithRPC
from x402.mechanisms.evm.upto.client import UptoEvmScheme

MOST_TOKENS = 400
# A caller who pays has no key.
NO_KEY = {"Authorization": openai.Omit()}
NETWORK = "eip155:8453"
PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}


def body(cell: dict) -> dict:
    common = {"model": cell["model"], "stream": cell["stream"]}
    if cell["dialect"] == "responses":
        return {**common, "input": cell["prompt"], "max_output_tokens": MOST_TOKENS}
    limit = "max_completion_tokens" if cell["dialect"] == "chat" else "max_tokens"
    return {**common, "messages": [{"role": "user", "content": cell["prompt"]}], limit: MOST_TOKENS}


def whole(dialect: str, answer: dict) -> str:
    if dialect == "chat":
        return answer["choices"][0]["message"]["content"]
    if dialect == "messages":
        return "".join(part.get("text", "") for part in answer["content"])
    return "".join(part.get("text", "") for item in answer["output"] for part in item.get("content") or [])


def piece(dialect: str, event: dict) -> str:
    if dialect == "chat":
        return "".join(choice["delta"].get("content") or "" for choice in event["choices"])
    if dialect == "messages":
        return event["delta"].get("text", "") if event["type"] == "content_block_delta" else ""
    return event["delta"] if event["type"] == "response.output_text.delta" else ""


def text_of(cell: dict, answered: str) -> str:
    """The text of an answer, whole or as server-sent events."""
    if not cell["stream"]:
        return whole(cell["dialect"], json.loads(answered))
    data = [line[6:] for line in answered.split("\n") if line.startswith("data: ")]
    return "".join(piece(cell["dialect"], json.loads(line)) for line in data if line != "[DONE]")


def payer(cell: dict) -> x402Client:
    account = Account.from_key(cell["key"])
    # Who signs a permit reads its nonce from the chain.
    signer = EthAccountSignerWithRPC(account, cell["rpc"]) if cell["scheme"] == "permit" else EthAccountSigner(account)
    scheme = ExactEvmScheme(signer) if cell["scheme"] == "exact" else UptoEvmScheme(signer)
    return x402Client().register(NETWORK, scheme)


async def by_httpx(cell: dict) -> dict:
    async with x402HttpxClient(payer(cell), timeout=60) as client:
        headers = {"anthropic-version": "2023-06-01"}
        answer = await client.post(cell["root"] + PATHS[cell["dialect"]], json=body(cell), headers=headers)
        if answer.status_code != 200:
            raise RuntimeError(f"status {answer.status_code}: {answer.text[:800]}")
        return {
            "status": answer.status_code,
            "payment": answer.headers.get("x-bardo-payment"),
            "text": text_of(cell, answer.text),
        }


async def by_openai(cell: dict) -> dict:
    client = openai.AsyncOpenAI(
        api_key="none",
        base_url=f"{cell['root']}/v1",
        max_retries=0,
        http_client=x402HttpxClient(payer(cell), timeout=60),
    )
    resource = client.chat.completions if cell["dialect"] == "chat" else client.responses
    raw = await resource.with_raw_response.create(**body(cell), extra_headers=NO_KEY)
    told = {"status": raw.status_code, "payment": raw.headers.get("x-bardo-payment")}
    answer = raw.parse()
    if not cell["stream"]:
        text = answer.choices[0].message.content if cell["dialect"] == "chat" else answer.output_text
        return {**told, "text": text}
    text = ""
    async for event in answer:
        text += piece(cell["dialect"], event.to_dict())
    return {**told, "text": text}


async def by_blockrun(cell: dict) -> dict:
    """Its client hides the headers, so every answer that passes below it is looked at."""
    seen = []
    send = httpx.Client.send

    def watched(client, request, **kwargs):
        answer = send(client, request, **kwargs)
        if "x-bardo-payment" in answer.headers:
            seen.append((answer.status_code, answer.headers["x-bardo-payment"]))
        return answer

    httpx.Client.send = watched
    # The nodes it asks are written into it.
    blockrun_x402.EVM_NETWORKS[NETWORK]["rpcs"] = (cell["rpc"],)
    try:
        text = blockrun(cell)
    finally:
        httpx.Client.send = send
    status, payment = seen[-1] if seen else (None, None)
    return {"status": status, "payment": payment, "text": text}


def blockrun(cell: dict) -> str:
    scheme = "exact" if cell["scheme"] == "exact" else "auto"
    client = blockrun_llm.LLMClient(private_key=cell["key"], api_url=cell["root"], payment_scheme=scheme)
    messages = [{"role": "user", "content": cell["prompt"]}]
    if not cell["stream"]:
        answer = client.chat_completion(cell["model"], messages, max_tokens=MOST_TOKENS)
        return answer.choices[0].message.content
    chunks = client.chat_completion_stream(cell["model"], messages, max_tokens=MOST_TOKENS)
    return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)


WAYS = {"httpx": by_httpx, "openai": by_openai, "blockrun": by_blockrun}


def main() -> None:
    for cell in json.load(sys.stdin):
        started = time.monotonic()
        try:
            told = asyncio.run(WAYS[cell["via"]](cell))
        except Exception:
            told = {"error": traceback.format_exc()[-2500:]}
        row = {"id": cell["id"], "seconds": time.monotonic() - started, **told}
        print(json.dumps(row), flush=True)
