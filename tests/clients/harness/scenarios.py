"""What each cell of the matrix asks of a client, as data both SDK languages read.

A scenario scripts the simulated model through the prompt (`bardo-script:` and one JSON
object), so what the client must end up with is known to the letter.
"""

import base64
import json
import struct
import zlib

from .targets import NATIVE, UPSTREAM_KEY, Backend, World

TEXT = 'Grüße from the shore: 東京 🌊, a "quote", a\\backslash\nand a second line.'
LONG = " ".join(f"Sentence {number} keeps the stream going." for number in range(1, 21))

TOOLS = [
    {
        "name": "get_weather",
        "description": "Forecast for a city.",
        "schema": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
            "required": ["city"],
        },
    },
    {
        "name": "convert",
        "description": "Converts an amount of money.",
        "schema": {
            "type": "object",
            "properties": {
                "amount": {"type": "string"},
                "currency": {"type": "string", "enum": ["EUR", "USD"]},
                "exact": {"type": "boolean"},
            },
            "required": ["amount", "currency"],
            "additionalProperties": False,
        },
    },
    {
        "name": "save_note",
        "description": "Saves a note.",
        "schema": {
            "type": "object",
            "properties": {
                "title": {"type": "string"},
                "lines": {"type": "array", "items": {"type": "string"}},
                "meta": {"type": "object", "properties": {"n": {"type": "number"}, "const": {"type": "string"}}},
            },
            "required": ["title", "lines"],
        },
    },
]
WEATHER = {"name": "get_weather", "args": {"city": "Zürich", "days": 3}}
CONVERT = {"name": "convert", "args": {"amount": "12.50", "currency": "EUR", "exact": True}}
NOTE = {"name": "save_note", "args": {"title": 'Trip "A"', "lines": ["eins", "二"], "meta": {"n": 1.5, "const": "x"}}}

SCHEMA = {
    "type": "object",
    "properties": {
        "verdict_kind": {"type": "string", "enum": ["calm", "storm"]},
        "knots": {"type": "integer"},
    },
    "required": ["verdict_kind", "knots"],
    "additionalProperties": False,
}
STRUCTURED = {"verdict_kind": "storm", "knots": 41}


def png(side: int = 24) -> str:
    """A small PNG, in base64."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes((10 * x + y) % 256 for x in range(side) for _ in "rgb") for y in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return base64.b64encode(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    ).decode()


def think(steps: list) -> list:
    return [{"think": f"Weighing step {number}: tide first.", **step} for number, step in enumerate(steps, 1)]


LOOP = [
    {"text": "First the weather.", "tools": [WEATHER]},
    {"tools": [CONVERT]},
    {"tools": [NOTE]},
    {"text": TEXT},
]
PARALLEL = [{"text": "Both at once.", "tools": [WEATHER, CONVERT]}, {"text": "Both arrived."}]


def fault(kind: str, **rest) -> list:
    return [{"text": LONG, "fault": {"kind": kind, **rest}}]


# name: (kind, steps, options). The kinds are the SDK programs' vocabulary.
SCENARIOS = {
    "text": ("loop", [{"text": TEXT}], {}),
    "stream": ("loop", [{"text": TEXT, "chunk": 5}], {"stream": True}),
    "tools": ("loop", LOOP, {"tools": TOOLS}),
    "tools-stream": ("loop", LOOP, {"tools": TOOLS, "stream": True}),
    "parallel": ("loop", PARALLEL, {"tools": TOOLS}),
    "parallel-stream": ("loop", PARALLEL, {"tools": TOOLS, "stream": True}),
    "thinking": ("loop", think(LOOP), {"tools": TOOLS, "thinking": True}),
    "thinking-stream": ("loop", think(LOOP), {"tools": TOOLS, "thinking": True, "stream": True}),
    # The client sends back only what it knows by name, as most OpenAI-style clients do.
    "thinking-dropped": ("loop", think(LOOP), {"tools": TOOLS, "thinking": True, "echo": "plain"}),
    # The SDK's own loop, which keeps the conversation in a thread where the provider has threads.
    "runner": ("runner", LOOP, {"tools": TOOLS}),
    "runner-thinking": ("runner", think(LOOP), {"tools": TOOLS, "thinking": True}),
    "structured": ("structured", [{"text": json.dumps(STRUCTURED)}], {"schema": SCHEMA, "value": STRUCTURED}),
    "image": ("loop", None, {"image": png()}),
    "truncated": ("loop", [{"text": LONG, "stop": "max_tokens"}], {"stop": "length"}),
    "error-400": ("error", fault("status", status=400), {"status": [400]}),
    "error-401": ("error", [{"text": "unreachable"}], {"status": [401], "bad_key": True}),
    "error-404": ("error", fault("status", status=404), {"status": [404]}),
    # The gateway asks nobody before the time that was named, and all clients share one key, so the
    # time is short: the cells after this one are not its subject.
    "error-429": ("error", fault("status", status=429, retry_after_ms=1), {"status": [429], "retry_after": True}),
    "error-overloaded": ("error", fault("status", status=0), {"status": [503, 529]}),
    "error-stream": ("error", fault("status", status=0), {"status": [503, 529], "stream": True}),
    # The provider refuses the gateway's key: the caller's own is fine and must not look refused.
    "error-upstream-key": ("error", fault("status", status=401), {"status": [502, 503]}),
    "midstream-error": ("midstream", fault("error_event_after", events=6), {}),
    "midstream-cut": ("midstream", fault("cut_after", events=6), {}),
    "midstream-eof": ("midstream", fault("eof_after", events=6), {}),
    # The same request twice: the second answer comes from the cache, and no provider sees it.
    "hit": ("hit", [{"text": TEXT}], {"tools": TOOLS}),
    "hit-stream": ("hit", [{"text": TEXT, "chunk": 5}], {"tools": TOOLS, "stream": True}),
    "models": ("models", None, {}),
    "count-tokens": ("count_tokens", None, {}),
    "embeddings": ("embeddings", None, {}),
}


def applies(scenario: str, dialect: str, backend: Backend, world: World) -> bool:
    """Whether a cell means anything."""
    if scenario == "models":
        # DeepSeek's own list lacks a key the SDK's types require.
        return backend.name != "deepseek" if world.direct else backend.name == "openai-chat"
    if SCENARIOS[scenario][0] == "hit" and world.direct:
        return False
    if scenario == "count-tokens":
        return dialect == "messages"
    if scenario == "embeddings":
        return dialect == "chat" and backend.name == "openai-chat"
    # What a service of the client's own dialect refuses, it refuses through the gateway too:
    # requests in its dialect are relayed and never repaired.
    own = world.direct or backend.name in NATIVE[dialect]
    if scenario == "thinking-dropped":
        return dialect == "chat" and not (own and backend.name == "deepseek") and not world.direct
    if scenario == "structured" and own and backend.name == "deepseek":
        return False
    if world.direct:
        if scenario in ("error-upstream-key", "midstream-eof"):
            # Not every SDK notices a clean end without a terminal event; the gateway must.
            return False
    return True


def expectation(scenario: str, steps, backend: Backend) -> dict:
    """What the client must hold at the end."""
    if steps is None:
        return {"contains": ["image/png", "1 image"], "turns": 1} if scenario == "image" else {}
    calls = [[{"name": t["name"], "args": t["args"]} for t in step["tools"]] for step in steps if "tools" in step]
    return {"calls": calls, "text": steps[-1].get("text", ""), "turns": len(steps)}


def cell(client: str, dialect: str, backend: Backend, scenario: str, world: World) -> dict:
    """One entry of the plan an SDK program reads."""
    kind, steps, options = SCENARIOS[scenario]
    name = f"{client}.{dialect}.{backend.name}.{scenario}"
    options = dict(options)
    expect = expectation(scenario, steps, backend)
    if scenario == "image" and not backend.sees_images:
        # A model that cannot see must be refused, never answered as if there were no image.
        kind, expect, options["status"] = "error", {}, [400, 404, 415, 422]
    prompt = f"[cell {name}] Please answer."
    # DeepSeek's own answers lack the header; everyone else, and the gateway always, sends it.
    options["request_id"] = not (world.direct and backend.name == "deepseek")
    # Only DeepSeek puts the usage of a stream on the chunk that finishes it.
    options["usage_on_finish"] = backend.name == "deepseek"
    if steps is not None:
        steps = json.loads(json.dumps(steps))
        if backend.name == "deepseek" and "tools" in options:
            # It thinks unless told not to, and asks for the thoughts of its tool turns back.
            steps = think(steps)
        for step in steps:
            if step.get("fault", {}).get("status") == 0:
                step["fault"]["status"] = backend.overloaded
        prompt += " bardo-script: " + json.dumps({"steps": steps}, ensure_ascii=False)
    if scenario == "error-upstream-key":
        options["secret"] = UPSTREAM_KEY
    base = world.root(backend) if dialect == "messages" else world.openai_base(backend)
    key = world.key
    if options.pop("bad_key", False):
        key = "bad-key" if world.direct else f"bardo_sk_{'0' * 8}_{'0' * 43}"
    return {
        "id": name,
        "client": client,
        "dialect": dialect,
        "backend": backend.name,
        "scenario": scenario,
        "kind": kind,
        "model": "text-embedding-3-small" if kind == "embeddings" else backend.model,
        "base_url": base,
        "api_key": key,
        "prompt": prompt,
        "expect": expect,
        "thoughts": [step.get("think") for step in steps or []],
        "options": options,
        "direct": world.direct,
    }


def plan(client: str, dialects, world: World, pattern) -> list:
    """Every cell of one client that applies and whose name the pattern finds."""
    cells = []
    for dialect in dialects:
        for backend in world.backends(dialect):
            for scenario in SCENARIOS:
                if SCENARIOS[scenario][0] == "runner" and not (client.startswith("py-") and dialect == "messages"):
                    continue
                if applies(scenario, dialect, backend, world):
                    entry = cell(client, dialect, backend, scenario, world)
                    if pattern is None or pattern.search(entry["id"]):
                        cells.append(entry)
    return cells
