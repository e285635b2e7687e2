"""A stored answer must be as good to the SDK as the live one that it repeats."""

from replies import Unmet, check_loop


def check(adapter, cell) -> None:
    seen: list = []
    # The current OpenAI SDK names its own transport.
    transport = getattr(adapter.sdk, "DefaultHttpx2Client", adapter.sdk.DefaultHttpxClient)
    adapter.client = adapter.client.with_options(
        http_client=transport(event_hooks={"response": [seen.append]}),
        default_headers={"X-Bardo-Cache": "default"},
    )
    live, again = [adapter.ask(adapter.opening(cell["prompt"], None)) for _ in range(2)]
    for reply in (live, again):
        check_loop(cell, reply, [], 1)
    for part in ("text", "stop", "input_tokens", "output_tokens"):
        if getattr(live, part) != getattr(again, part):
            raise Unmet(f"{part}: {getattr(live, part)!r} live, {getattr(again, part)!r} stored")
    told = [answer.headers.get("x-bardo-cache") for answer in seen]
    if told != ["miss", "hash"]:
        raise Unmet(f"x-bardo-cache {told}")
    if seen[-1].headers.get("x-bardo-cost") != "0.000000":
        raise Unmet(f"it costs {seen[-1].headers.get('x-bardo-cost')}")
