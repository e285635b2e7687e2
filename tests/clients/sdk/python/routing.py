"""Traffic that moves between backends, and hints, as the SDKs' users meet them."""

import json
import time

from money import LIMITS, Till, equal
from replies import Unmet

FIRST, SECOND = "blockrun", "openrouter"
GOLEM = {"golem_id": "golem-7", "tick": 41, "vitality": 0.5}
# The first try of a whole answer and of a stream goes wrong so, before any content.
FAULTS = ((False, {"kind": "status", "status": 503}), (True, {"kind": "error_event_after", "events": 0}))
PATIENCE = 20


class Route(Till):
    """One cell's key, and what its receipts say of who was asked."""

    def say(self, *, stream: bool = False, **extra) -> str:
        """Asks by the SDK as it is used, with more in the request; the text of the answer."""
        adapter = self.adapter
        plain = type(adapter).request
        adapter.request = lambda history: {**plain(adapter, history), LIMITS[self.cell["dialect"]]: 400, **extra}
        adapter.options = {**self.cell["options"], "stream": stream}
        if stream and self.cell["dialect"] == "chat":
            # OpenRouter's last chunk has usage beside an empty choice, and is relayed as it is.
            return "".join(adapter.raw_stream(self.cell["prompt"]))
        return adapter.ask(adapter.opening(self.cell["prompt"], None)).text

    def last(self) -> dict:
        return self.receipt(self.headers()["x-request-id"])

    def tried(self, **asked) -> list:
        """Asks, wants the whole text, and tells which backends were asked for it."""
        equal("text", self.say(**asked), self.cell["expect"]["text"])
        equal("requests of the SDK", [one.status_code for one in self.seen], [200])
        kept = self.last()
        equal("the header", self.headers()["x-bardo-provider"], kept["attempts"][-1]["provider"])
        self.seen.clear()
        return [attempt["provider"] for attempt in kept["attempts"]]

    def until(self, wanted: list, **asked) -> None:
        started = time.monotonic()
        while (tried := self.tried(**asked)) != wanted:
            if time.monotonic() - started > PATIENCE:
                raise Unmet(f"still {tried} after {PATIENCE} s, wanted {wanted}")
            time.sleep(0.05)

    def hinted(self, **more) -> dict:
        return {"extra_body": {"bardo": {"subsystem": self.cell["subsystem"], **more}}}


def moves(route: Route) -> None:
    hints = route.hinted()
    for stream, fault in FAULTS:
        equal("well", route.tried(stream=stream, **hints), [FIRST])
        route.fault(**fault)
        equal("moved", route.tried(stream=stream, **hints), [FIRST, SECOND])
    equal("well again", route.tried(**hints), [FIRST])


def outage(route: Route) -> None:
    equal("well", route.tried(), [FIRST])
    route.plain("/kill", root=route.cell["control"], body={})
    try:
        for stream in (False, True):
            equal("moved", route.tried(stream=stream), [FIRST, SECOND])
        # Whoever is dead is not asked any more.
        route.until([SECOND])
    finally:
        route.plain("/revive", root=route.cell["control"], body={})
    route.until([FIRST])
    equal("back for streams too", route.tried(stream=True), [FIRST])


def routing_of(route: Route) -> dict:
    """What a receipt says of routing, of an answer that the first backend gave."""
    kept = route.last()
    equal("provider", kept["provider"], FIRST)
    found = kept["routing"]
    equal("subsystem", (found["subsystem"], found["automatic"]), (route.cell["subsystem"], True))
    equal("the agent", {name: found[name] for name in GOLEM}, GOLEM)
    equal("warnings", found["warnings"], [])
    # Hints in the body make the request longer, which its estimate does not look behind.
    return {name: value for name, value in found.items() if name != "estimated_cost"}


def hints_body(route: Route) -> None:
    route.say(**route.hinted(**GOLEM))
    routing_of(route)


def hints_headers(route: Route) -> None:
    headers = {f"X-Bardo-{name.replace('_', '-').title()}": str(value) for name, value in GOLEM.items()}
    route.say(extra_headers={"X-Bardo-Subsystem": route.cell["subsystem"], **headers})
    told = routing_of(route)
    route.say(**route.hinted(**GOLEM))
    equal("the same hints in the body", routing_of(route), told)


def refused(route: Route, hints: dict):
    """The SDK's exception for a 400, raised at once and with our words in it."""
    sdk = route.adapter.sdk
    route.retries(2)
    try:
        route.say(extra_body={"bardo": hints})
    except sdk.BadRequestError as caught:
        equal("requests", [one.status_code for one in route.seen], [400])
        return caught, caught.body.get("error", caught.body)
    raise Unmet("no exception, an answer")


def privacy(route: Route) -> None:
    caught, body = refused(route, {"security_class": "private"})
    equal("bardo_code", body["bardo_code"], "privacy_unavailable")
    if "providers.venice" not in str(caught):
        raise Unmet(f"it does not say what would help: {caught}")
    route.charged(0)


def malformed(route: Route) -> None:
    caught, body = refused(route, {"security_class": "secret"})
    equal("bardo_code", body["bardo_code"], "invalid_request")
    if "security_class" not in str(caught):
        raise Unmet(f"it does not name the hint: {caught}")
    route.charged(0)


def schema(route: Route) -> None:
    for stream in (False, True):
        text = route.say(stream=stream, extra_body={"bardo": {"subsystem": "heartbeat_t1"}})
        equal("decision", json.loads(text), route.cell["expect"]["value"])
        routing = route.last()["routing"]
        equal("held to a schema", routing["profile"]["structured"], True)
        if stream and routing["schema"] is None:
            # A stream that is relayed byte for byte is not read.
            continue
        wanted = {"name": "heartbeat_decision", "valid": True, "repaired": False}
        equal("schema", {name: routing["schema"][name] for name in wanted}, wanted)


SCENARIOS = {
    "moves": moves,
    "outage": outage,
    "hints-body": hints_body,
    "hints-headers": hints_headers,
    "privacy": privacy,
    "malformed": malformed,
    "schema": schema,
}


def check(adapter, cell) -> None:
    SCENARIOS[cell["scenario"]](Route(adapter, cell))
