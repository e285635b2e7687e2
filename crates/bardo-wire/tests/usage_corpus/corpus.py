"""Writes the golden corpus of usage: answers as providers send them, and what each one costs.

    python3 crates/bardo-wire/tests/usage_corpus/corpus.py          writes every file anew
    python3 crates/bardo-wire/tests/usage_corpus/corpus.py --check  fails where a file would change

The expected counts are written down by hand, case by case, from what each provider documents; the
expected charges are computed from them here with exact fractions. Nothing of the product is used.

A case `<provider or dialect>/<name>` has a whole answer (`.json`), streams (`.sse`, and `.<variant>.sse`), or
both, and all of them cost what `<name>.expect.json` says.
"""

import json
import math
import os
import sys
from fractions import Fraction

HERE = os.path.dirname(os.path.abspath(__file__))
SPREADS = (0, 1000, 2000)
CLASSES = (
    "fresh_input",
    "cache_read",
    "cache_write_5m",
    "cache_write_1h",
    "output",
    "reasoning",
    "audio_input",
    "audio_output",
    "accepted_prediction",
    "rejected_prediction",
    "web_searches",
    "provider_cost_usd",
    "byok_fee",
)

files = {}
cases = {}


def pico(usage, price):
    """The cost in 10^-12 USD. Prices are USD per million tokens, flat ones USD.

    With a key of the customer's own the cost is the reseller's fee, in 10^-6 USD.
    """
    if "byok_fee" in usage:
        return usage["byok_fee"] * 10**6
    rates = dict(price)
    prompt = sum(usage.get(c, 0) for c in CLASSES[:4])
    long = rates.pop("long_context", None)
    if long and prompt > long["above"]:
        rates.update({c: None for c in ("cache_read", "cache_write_5m", "cache_write_1h")})
        rates.update({c: v for c, v in long.items() if c != "above"})
    rate = {c: Fraction(v) for c, v in rates.items() if v is not None}
    audio_in = min(usage.get("audio_input") or 0, usage.get("fresh_input", 0))
    audio_out = min(usage.get("audio_output") or 0, usage.get("output", 0))
    reasoning = min(usage.get("reasoning") or 0, usage.get("output", 0) - audio_out)
    if "audio_input" not in rate:
        audio_in = 0
    if "audio_output" not in rate:
        audio_out = 0
        reasoning = min(usage.get("reasoning") or 0, usage.get("output", 0))
    if "reasoning" not in rate:
        reasoning = 0
    write_5m = rate.get("cache_write_5m", rate["input"] * Fraction(5, 4))
    write_1h = rate.get("cache_write_1h", max(rate["input"] * 2, write_5m))
    dollars = (
        (usage.get("fresh_input", 0) - audio_in) * rate["input"]
        + audio_in * rate.get("audio_input", 0)
        + usage.get("cache_read", 0) * rate.get("cache_read", rate["input"])
        + usage.get("cache_write_5m", 0) * write_5m
        + usage.get("cache_write_1h", 0) * write_1h
        + (usage.get("output", 0) - audio_out - reasoning) * rate["output"]
        + audio_out * rate.get("audio_output", 0)
        + reasoning * rate.get("reasoning", 0)
    ) / 1_000_000
    dollars += (usage.get("web_searches") or 0) * rate.get("web_search", 0)
    dollars += rate.get("request", 0)
    exact = dollars * 10**12
    assert exact.denominator == 1, (usage, price)
    return exact.numerator


def charge(cost, points):
    return math.ceil(Fraction(cost * (10_000 + points), 10_000 * 10**6))


def case(name, price, usage, whole=None, **streams):
    """`usage` is None where the answer tells nothing."""
    assert name not in cases, name
    place = name.split("/")[0]
    dialect = place if place in ("anthropic", "gemini", "responses") else "chat"
    if whole is not None:
        files[f"{name}.json"] = whole
    for variant, stream in streams.items():
        label = "" if variant == "sse" else f".{variant}"
        files[f"{name}{label}.sse"] = stream
    expect = {"dialect": dialect, "local": place == "local", "price": price, "usage": None, "pico": None, "charges": None}
    if usage is not None:
        assert all(c in CLASSES for c in usage), usage
        cost = pico(usage, price)
        expect["usage"] = usage
        expect["pico"] = str(cost)
        expect["charges"] = {
            str(points): {
                "charge": charge(cost, points),
                "provider_cost": min(charge(cost, 0), charge(cost, points)),
            }
            for points in SPREADS
        }
    cases[name] = expect
    files[f"{name}.expect.json"] = json.dumps(expect, indent=1, ensure_ascii=False) + "\n"


def main():
    sys.dont_write_bytecode = True
    import cases_anthropic, cases_chat, cases_gemini, cases_local, cases_responses  # noqa: E401,F401

    stale = []
    for name, text in sorted(files.items()):
        path = os.path.join(HERE, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        old = open(path, encoding="utf-8", newline="").read() if os.path.exists(path) else None
        if old != text:
            stale.append(name)
            if "--check" not in sys.argv:
                open(path, "w", encoding="utf-8", newline="").write(text)
    known = {os.path.normpath(os.path.join(HERE, name)) for name in files}
    for folder, _, names in os.walk(HERE):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith((".json", ".sse")) and path not in known:
                stale.append(os.path.relpath(path, HERE))
                if "--check" not in sys.argv:
                    os.remove(path)
    print(f"{len(cases)} cases, {len(files) - len(cases)} answers, {len(stale)} changed")
    if stale and "--check" in sys.argv:
        sys.exit("\n".join(stale))


if __name__ == "__main__":
    sys.modules["corpus"] = sys.modules["__main__"]
    main()
