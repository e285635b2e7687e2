"""Runs the cells of a plan with the Python SDKs of this environment.

Reads one JSON plan on stdin and writes one JSON line per cell:
`{"id", "ok", "detail", "seconds"}`. Strict response validation is on throughout: an
answer that lacks a required key or carries an unknown enum value is an exception.
"""

import json
import sys
import time
import traceback

import chat
import hits
import messages
import money
import responses
import routing
from httpx_errors import TRANSPORT
from replies import Unmet, check_loop

ADAPTERS = {"chat": chat.Chat, "responses": responses.Responses, "messages": messages.Messages}
MOST_TURNS = 8


def tool_result(number: int, name: str) -> str:
    """What the client's tool answers; the harness looks for it in the provider's journal."""
    return f'result {number} of {name}: "Ærø" 東京\n{{"ok": true}}'


def loop(adapter, cell) -> None:
    """The loop every agent runs: ask, run the tools, send the results, until there are no calls."""
    history = adapter.opening(cell["prompt"], cell["options"].get("image"))
    rounds, count = [], 0
    for turn in range(1, MOST_TURNS + 1):
        reply = adapter.ask(history)
        if not reply.calls:
            check_loop(cell, reply, rounds, turn)
            return
        rounds.append(reply.calls)
        results = []
        for call in reply.calls:
            count += 1
            results.append((call.id, tool_result(count, call.name)))
        history = adapter.extended(history, reply, results)
    raise Unmet(f"still calling tools after {MOST_TURNS} turns")


def runner(adapter, cell) -> None:
    """The SDK's own loop runs the tools."""
    rounds, count = [], 0

    def called(name: str) -> str:
        nonlocal count
        count += 1
        # A thread is not told the prompt again, so the cell's name travels with the result.
        return f"{tool_result(count, name)}\n[cell {cell['id']}]"

    for turn, reply in enumerate(adapter.run_tools(cell["prompt"], called), 1):
        if not reply.calls:
            check_loop(cell, reply, rounds, turn)
            return
        rounds.append(reply.calls)
    raise Unmet(f"the loop ended with a call, after {len(rounds)} turns")


def structured(adapter, cell) -> None:
    value = adapter.structured(cell["prompt"])
    if value != cell["options"]["value"]:
        raise Unmet(f"parsed {value!r}")


def error(adapter, cell) -> None:
    """The SDK must raise its own exception for the status, with the parts a program reads."""
    try:
        reply = adapter.ask(adapter.opening(cell["prompt"], cell["options"].get("image")))
    except adapter.sdk.APIStatusError as caught:
        adapter.check_error(caught, cell["options"])
    else:
        raise Unmet(f"no exception, an answer: {reply.text[:200]!r}")


def midstream(adapter, cell) -> None:
    """Some text arrives, then the failure shows; the end must never look clean."""
    arrived = []
    try:
        for piece in adapter.raw_stream(cell["prompt"]):
            arrived.append(piece)
    except adapter.failures() as caught:
        if not str(caught).strip():
            raise Unmet("the exception says nothing") from caught
        if not cell["direct"] and isinstance(caught, (adapter.sdk.APIConnectionError, *TRANSPORT)):
            raise Unmet(f"the connection broke, and the stream said nothing of it: {caught!r}") from caught
    else:
        raise Unmet(f"the stream ended as if complete, after {len(''.join(arrived))} characters")
    if not "".join(arrived).startswith("Sentence 1 "):
        raise Unmet(f"no text before the failure: {''.join(arrived)[:80]!r}")


RUNNERS = {
    "loop": loop,
    "hit": hits.check,
    "runner": runner,
    "structured": structured,
    "error": error,
    "midstream": midstream,
    "models": lambda adapter, cell: adapter.models(cell),
    "count_tokens": lambda adapter, cell: adapter.count_tokens(cell),
    "embeddings": lambda adapter, cell: adapter.embeddings(cell),
    "money": money.check,
    "routing": routing.check,
}


def described(error: BaseException) -> str:
    """The exception, what caused it, and where this program was."""
    here = [frame for frame in traceback.extract_tb(error.__traceback__) if "site-packages" not in frame.filename]
    where = f" (line {here[-1].lineno} of {here[-1].filename.rsplit('/', 1)[-1]})" if here else ""
    cause = f"\nbecause of {reason(error.__cause__)}" if error.__cause__ else ""
    return f"{type(error).__module__}.{type(error).__name__}: {error}{where}{cause}"[:1500]


def reason(cause: BaseException) -> str:
    """A union of fifty event types fails fifty times; the few that fail on a value tell which was meant."""
    if not hasattr(cause, "errors"):
        return f"{type(cause).__name__}: {cause}"
    rows = [row for row in cause.errors() if not str(row["loc"][-1:]).endswith("'type',)")]
    rows.sort(key=lambda row: (row["type"] == "missing", -len(row["loc"])))
    return "; ".join(f"{'.'.join(str(part) for part in row['loc'])}: {row['msg']}" for row in rows[:4])


def run(cell) -> dict:
    started = time.monotonic()
    try:
        RUNNERS[cell["kind"]](ADAPTERS[cell["dialect"]](cell), cell)
        detail = None
    except Unmet as unmet:
        detail = str(unmet)
    except Exception as error:  # Anything the SDK throws is this cell's result, not the end of the run.
        detail = described(error)
    return {"id": cell["id"], "ok": detail is None, "detail": detail, "seconds": time.monotonic() - started}


def main() -> None:
    for cell in json.load(sys.stdin):
        print(json.dumps(run(cell)), flush=True)


if __name__ == "__main__":
    main()
