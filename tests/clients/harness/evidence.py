"""What the provider saw: checks of the sandbox's journal, the same for every client.

A client that is content proves half. The other half is that the right service was
asked, in its own form, as often as it should have been, with the opaque state of the
earlier turns and without anything of the caller's that is not its business.
"""

import json

from . import targets


def strings(value):
    """Every string in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings(item)


def by_marker(entries: list, ids) -> dict:
    """Journal entries by the cell whose prompt they carry."""
    found: dict = {id: [] for id in ids}
    for entry in entries:
        body = entry.get("body") or ""
        start = body.find("[cell ")
        if start >= 0:
            id = body[start + 6 : body.find("]", start)]
            if id in found:
                found[id].append(entry)
    return found


def problems(cell: dict, entries: list, world: targets.World) -> list:
    """What the journal holds against a cell; empty when all is well."""
    kind, options = cell["kind"], cell["options"]
    if kind in ("printed", "money", "routing", "telemetry", "openapi", "paid"):
        # It ran against a sandbox of its own.
        return []
    backend = targets.BACKEND[cell["backend"]]
    if kind in ("models", "count_tokens", "embeddings") or options.get("status") == [401]:
        return []
    if cell["scenario"] == "image" and not backend.sees_images:
        return []
    if not entries:
        return ["nothing reached the provider"]
    out = []
    for entry in entries:
        if entry["service"] != backend.service or backend.path_part not in entry["path"]:
            out.append(f"went to {entry['service']} {entry['path']}")
        if not world.direct and leaks(entry):
            out.append(f"the caller's gateway key reached {entry['service']}")
    if kind in ("loop", "hit", "structured", "runner"):
        out += loop_problems(cell, entries, backend)
    if kind == "agent":
        out += agent_problems(cell, entries, backend)
    if cell["scenario"] in ("error-400", "error-404") and len(entries) != 1:
        out.append(f"a refusal was tried {len(entries)} times")
    if kind == "midstream" and len(entries) != 1:
        out.append(f"an answer that had begun was asked for {len(entries)} times")
    return out


def leaks(entry: dict) -> bool:
    headers = " ".join(value for _name, value in entry["headers"])
    return targets.KEY_SECRET in headers or targets.KEY_SECRET in (entry.get("body") or "")


def loop_problems(cell: dict, entries: list, backend: targets.Backend) -> list:
    expect = cell["expect"]
    bodies = [json.loads(entry["body"]) for entry in entries]
    refused = [entry["status"] for entry in entries if entry["status"] != 200]
    if refused:
        return [f"the provider answered {refused}"]
    out = []
    turns = expect.get("turns", 1)
    if len(entries) != turns:
        out.append(f"{len(entries)} requests for {turns} turns")
    # A thread is told only what is new to it.
    told = bodies if cell["kind"] == "runner" else bodies[-1]
    last = list(strings(told))
    number = 0
    for calls in expect.get("calls", []):
        for call in calls:
            number += 1
            wanted = f'result {number} of {call["name"]}: "Ærø" 東京\n{{"ok": true}}'
            if not any(wanted in text for text in last):
                out.append(f"the result of call {number} did not arrive")
    image = cell["options"].get("image")
    if image and not any(image in text for text in last):
        out.append("the image did not arrive byte for byte")
    if cell["kind"] == "structured" and backend.name != "deepseek":
        if not any(text == "verdict_kind" for text in last):
            out.append("the schema did not arrive")
    return out + state_problems(bodies[-1], cell, backend)


def agent_problems(cell: dict, entries: list, backend: targets.Backend) -> list:
    """An agent may ask for more than its turns (a title, a count); the turns must be among it."""
    refused = [entry["status"] for entry in entries if entry["status"] != 200]
    if refused:
        return [f"the provider answered {refused}"]
    if len(entries) < cell["turns"]:
        return [f"{len(entries)} requests for {cell['turns']} turns"]
    bodies = [json.loads(entry["body"]) for entry in entries]
    last = max(bodies, key=lambda body: len(list(strings(body))))
    out = []
    if cell["reads"] and not any(cell["reads"] in text for text in strings(last)):
        out.append("what the agent read did not arrive")
    return out + state_problems(last, cell, backend)


def state_problems(body: dict, cell: dict, backend: targets.Backend) -> list:
    """The opaque state of the turns before, where the model was made to think."""
    check = STATE.get(backend.name)
    return check(body, cell) if check and any(cell["thoughts"]) else []


def anthropic_state(body: dict, _cell: dict) -> list:
    """Each earlier tool turn opens with its signed thinking, as it was issued."""
    out = []
    for message in body["messages"]:
        if message["role"] != "assistant" or isinstance(message["content"], str):
            continue
        kinds = [block["type"] for block in message["content"]]
        if "tool_use" not in kinds:
            continue
        signed = [b for b in message["content"] if b["type"] == "thinking" and b.get("signature")]
        if kinds[0] != "thinking" or not signed:
            out.append(f"an assistant turn went back as {kinds}")
    return out


def responses_state(body: dict, _cell: dict) -> list:
    """Each call stands behind the reasoning that led to it."""
    out, before = [], None
    for item in body["input"]:
        if item.get("type") in ("function_call", "custom_tool_call"):
            # A message may stand between the two; the reasoning may not be missing.
            if before is None or not before.get("encrypted_content"):
                out.append("a call went back without its encrypted reasoning")
            before = None
        elif item.get("type") == "reasoning":
            before = item
    return out


def gemini_state(body: dict, _cell: dict) -> list:
    """The first call of each model turn carries the signature it came with."""
    out = []
    for content in body["contents"]:
        if content.get("role") != "model":
            continue
        calls = [part for part in content["parts"] if "functionCall" in part]
        if not calls:
            continue
        signature = calls[0].get("thoughtSignature")
        if not signature or "skip_thought_signature" in signature:
            out.append(f"a function call went back with signature {signature!r}")
    return out


def deepseek_state(body: dict, cell: dict) -> list:
    """Tool turns carry the reasoning text they came with."""
    thoughts = cell["thoughts"]
    out, number = [], 0
    for message in body["messages"]:
        if message["role"] == "assistant" and message.get("tool_calls"):
            if message.get("reasoning_content") != thoughts[number]:
                out.append(f"turn {number + 1} went back with reasoning {message.get('reasoning_content')!r}")
            number += 1
    return out


STATE = {
    "anthropic": anthropic_state,
    "responses": responses_state,
    "gemini": gemini_state,
    "deepseek": deepseek_state,
}
