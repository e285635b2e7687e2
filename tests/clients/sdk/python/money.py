"""Keys with money, as the SDKs' users meet them: what is charged, refused, repeated and cut off."""

import json
import re
import time
import urllib.error
import urllib.request

from replies import Unmet

# Output tokens that no account of a refused cell can pay for, in each dialect's word.
LIMITS = {"chat": "max_completion_tokens", "responses": "max_output_tokens", "messages": "max_tokens"}
DEAR = 4000
# Held for the small answers; all accounts that are to pay can.
CHEAP = 200


def equal(what: str, got, wanted) -> None:
    if got != wanted:
        raise Unmet(f"{what}: {got!r}, wanted {wanted!r}")


def micro(usd: str) -> int:
    """Decimal USD as whole micro-USD, without a float in between."""
    whole, _, parts = usd.partition(".")
    return int(whole) * 1_000_000 + int(parts.ljust(6, "0"))


class Till:
    """One cell's key, seen from outside the SDK."""

    def __init__(self, adapter, cell) -> None:
        self.adapter, self.cell = adapter, cell
        self.seen: list = []
        self.client = adapter.client
        self.retries(0)

    def retries(self, most: int, **options) -> None:
        """The SDK as it is, with every request that it really sends counted."""
        self.seen.clear()
        sdk = self.adapter.sdk
        # The current OpenAI SDK names its own transport.
        transport = getattr(sdk, "DefaultHttpx2Client", sdk.DefaultHttpxClient)
        hooks = {"response": [self.seen.append]}
        self.adapter.client = self.client.with_options(
            http_client=transport(event_hooks=hooks), max_retries=most, **options
        )

    def place(self):
        client = self.adapter.client
        return {"messages": lambda: client.messages, "responses": lambda: client.responses}.get(
            self.cell["dialect"], lambda: client.chat.completions
        )()

    def request(self, limit: int = CHEAP) -> dict:
        adapter = self.adapter
        body = adapter.request(adapter.opening(self.cell["prompt"], None))
        return {**body, LIMITS[self.cell["dialect"]]: limit}

    def ask(self, limit: int = CHEAP, **options):
        return self.place().create(**self.request(limit), **options)

    def headers(self) -> dict:
        return self.seen[-1].headers

    def plain(self, path: str, root: str | None = None, body: dict | None = None) -> tuple:
        """Status-checked JSON or text by plain HTTP, with the cell's key."""
        request = urllib.request.Request(
            (root or self.cell["root"]) + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.cell['api_key']}", "Content-Type": "application/json"},
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=30) as answer:
            return answer.headers, answer.read().decode()

    def json(self, path: str, **options) -> dict:
        return json.loads(self.plain(path, **options)[1])

    def receipt(self, id: str) -> dict:
        """What is known of an answer; of one that broke off a moment after it did."""
        until = time.monotonic() + 5
        while True:
            try:
                return self.json(f"/v1/receipts/{id}")
            except urllib.error.HTTPError as missing:
                if missing.code != 404 or time.monotonic() > until:
                    raise
                time.sleep(0.02)

    def balance(self) -> dict:
        return self.json("/v1/balance")["micro"]

    def settled(self) -> dict:
        """The balance once nothing is held any more, or after a while."""
        until = time.monotonic() + 5
        while (found := self.balance())["held"] and time.monotonic() < until:
            time.sleep(0.02)
        return found

    def charged(self, wanted: int) -> None:
        """Exactly this was spent, and nothing stays held."""
        found = self.settled()
        equal("held", found["held"], 0)
        equal("spent", found["spent"], wanted)
        equal("available", found["available"], found["deposited"] - wanted)

    def refused(self, name: str, status: int, code: str, limit: int = CHEAP):
        """The SDK raises this and has asked once, though it may ask again."""
        self.retries(2)
        started = time.monotonic()
        try:
            self.ask(limit)
        except self.adapter.sdk.APIStatusError as caught:
            equal("status", caught.status_code, status)
            if not isinstance(caught, getattr(self.adapter.sdk, name)):
                raise Unmet(f"{type(caught).__name__}, wanted {name}") from caught
            equal("requests", len(self.seen), 1)
            body = caught.body.get("error", caught.body)
            equal("bardo_code", body.get("bardo_code"), code)
            if time.monotonic() - started > 10:
                raise Unmet("it waited before it raised") from caught
            return caught
        raise Unmet("no exception, an answer")

    def fault(self, **fault) -> None:
        body = {"service": self.cell["service"], "times": 1, "fault": fault}
        self.plain("/_sandbox/faults", root=self.cell["sandbox"], body=body)


def receipt(till: Till) -> None:
    raw = till.place().with_raw_response.create(**till.request())
    answer, headers = raw.parse(), raw.headers
    if not answer.id:
        raise Unmet("the raw response parses to nothing")
    cost, id = headers["x-bardo-cost"], headers["x-request-id"]
    kept = till.json(f"/v1/receipts/{id}")
    equal("receipt's id", kept["request_id"], headers["x-bardo-request-id"])
    equal("receipt's charge", kept["cost"]["charge"], cost)
    equal("receipt's spread", kept["cost"]["spread"], headers["x-bardo-spread"])
    equal("balance", till.json("/v1/balance")["available"], headers["x-bardo-balance"])
    total = till.json("/v1/usage")["total"]
    equal("usage", (total["charge"], total["requests"]), (cost, 1))
    if micro(cost) <= 0:
        raise Unmet(f"the answer cost {cost}")
    till.charged(micro(cost))


COMMENT = re.compile(r"^: bardo (\{.*\})$", re.M)


def stream(till: Till) -> None:
    till.adapter.options = {**till.adapter.options, "stream": True}
    reply = till.adapter.ask(till.adapter.opening(till.cell["prompt"], None))
    equal("text", reply.text, till.cell["expect"]["text"])
    kept = till.json(f"/v1/receipts/{till.headers()['x-request-id']}")
    equal("receipt", (kept["status"], kept["stream"]), ("finished", True))
    path = {"chat": "/v1/chat/completions"}.get(till.cell["dialect"], f"/v1/{till.cell['dialect']}")
    headers, text = till.plain(path, body={**till.request(), "stream": True})
    comments = COMMENT.findall(text)
    equal("closing comments", len(comments), 1)
    told = json.loads(comments[0])
    again = till.json(f"/v1/receipts/{headers['x-request-id']}")
    equal("the comment's cost", told["cost"], again["cost"]["charge"])
    equal("the comment's balance", told["balance"], till.json("/v1/balance")["available"])
    till.charged(micro(kept["cost"]["charge"]) + micro(told["cost"]))


def funds(till: Till) -> None:
    caught = till.refused("APIStatusError", 402, "insufficient_funds", DEAR)
    equal("x-should-retry", caught.response.headers["x-should-retry"], "false")
    till.charged(0)
    fits = re.search(r"`max_tokens` of at most (\d+) would fit", str(caught))
    if not fits:
        raise Unmet(f"it does not say what would fit: {caught}")
    till.retries(0)
    till.ask(int(fits[1]))
    till.charged(micro(till.headers()["x-bardo-cost"]))


def empty(till: Till) -> None:
    till.refused("APIStatusError", 402, "insufficient_funds")
    till.charged(0)


def refusal(till: Till):
    """What the SDK raises once the limit is used up, and what the answers before cost."""
    till.retries(0)
    for _ in range(2 * till.cell["rpm"]):
        try:
            till.ask()
        except till.adapter.sdk.RateLimitError as caught:
            equal("bardo_code", caught.body.get("error", caught.body)["bardo_code"], "rate_limited")
            limit = caught.response.headers["x-ratelimit-limit-requests"]
            equal("x-ratelimit-limit-requests", limit, str(till.cell["rpm"]))
            return caught, sum(micro(one.headers["x-bardo-cost"]) for one in till.seen[:-1])
    raise Unmet(f"{2 * till.cell['rpm']} requests went through")


def rate_limit(till: Till) -> None:
    spent = 0
    for _ in range(5):
        refused, cost = refusal(till)
        spent += cost
        wait = int(refused.response.headers["retry-after"])
        till.retries(3)
        started = time.monotonic()
        till.ask()
        waited = time.monotonic() - started
        if till.seen[0].status_code == 429:
            break
        # On a busy machine a request of the limit had come back meanwhile.
        spent += micro(till.headers()["x-bardo-cost"])
    # It asks at once, is told how long to wait, and is let in then.
    equal("requests", [one.status_code for one in till.seen], [429, 200])
    if waited > wait + 5:
        raise Unmet(f"it waited {waited:.1f} s for a retry-after of {wait}")
    equal("retry count", till.seen[-1].request.headers["x-stainless-retry-count"], "1")
    till.charged(spent + micro(till.headers()["x-bardo-cost"]))


def spend_cap(till: Till) -> None:
    caught = till.refused("RateLimitError", 429, "budget_exceeded", DEAR)
    equal("x-should-retry", caught.response.headers["x-should-retry"], "false")
    till.charged(0)


def revoked(till: Till) -> None:
    till.ask()
    spent = till.balance()["spent"]
    # The key was good a moment ago, and stays remembered for nobody.
    till.plain(f"/admin/keys/{till.cell['key_id']}/revoke", root=till.cell["admin"], body={})
    till.refused("AuthenticationError", 401, "invalid_key")
    if not spent:
        raise Unmet("the answer before cost nothing")


def read_only(till: Till) -> None:
    till.refused("PermissionDeniedError", 403, "key_scope")
    ids = [model.id for model in till.adapter.client.models.list()]
    if till.cell["model"] not in ids:
        raise Unmet(f"{till.cell['model']} not among {ids}")
    till.charged(0)


def cut_off(till: Till) -> None:
    """A stream without a limit gets the one that the balance pays for, and ends well there."""
    arrived = "".join(till.adapter.raw_stream(till.cell["prompt"]))
    degraded = till.headers().get("x-bardo-degraded", "")
    if "max_tokens" not in degraded:
        raise Unmet(f"the limit is not named: {degraded!r}")
    whole = till.cell["expect"]["text"]
    if not arrived or not whole.startswith(arrived) or arrived == whole:
        raise Unmet(f"{len(arrived)} of {len(whole)} characters arrived: {arrived[:80]!r}")
    kept = till.receipt(till.headers()["x-request-id"])
    charge = micro(kept["cost"]["charge"])
    if not charge:
        raise Unmet(f"what was delivered cost nothing: {kept}")
    till.charged(charge)


def idempotency(till: Till) -> None:
    options = {"extra_headers": {"Idempotency-Key": f"order-{till.cell['id']}"}}
    first = till.ask(**options)
    cost = micro(till.headers()["x-bardo-cost"])
    second = till.ask(**options)
    equal("the replay", second.model_dump(), first.model_dump())
    equal("idempotent-replayed", till.headers().get("idempotent-replayed"), "true")
    till.charged(cost)
    try:
        till.ask(CHEAP + 1, **options)
    except till.adapter.sdk.UnprocessableEntityError:
        till.charged(cost)
        return
    raise Unmet("another request under the same key was answered")


def sdk_retry(till: Till) -> None:
    till.fault(kind="status", status=500)
    till.retries(2)
    till.ask()
    equal("requests", [one.status_code for one in till.seen], [502, 200])
    till.charged(micro(till.headers()["x-bardo-cost"]))


def sdk_timeout(till: Till) -> None:
    till.fault(kind="delay_headers", ms=60_000)
    till.retries(2, timeout=1.5)
    till.ask()
    retried = till.seen[-1].request.headers["x-stainless-retry-count"]
    equal("retry count", retried, "1")
    # The provider had taken the try that the SDK gave up, and worked on it: that is paid for too.
    cost = micro(till.headers()["x-bardo-cost"])
    spent = till.settled()["spent"]
    if spent <= cost:
        raise Unmet(f"the abandoned try cost nothing: spent {spent}, the answer {cost}")
    till.charged(spent)


SCENARIOS = {
    "receipt": receipt,
    "stream": stream,
    "funds": funds,
    "empty": empty,
    "rate-limit": rate_limit,
    "spend-cap": spend_cap,
    "revoked": revoked,
    "read-only": read_only,
    "cut-off": cut_off,
    "idempotency": idempotency,
    "sdk-retry": sdk_retry,
    "sdk-timeout": sdk_timeout,
}


def check(adapter, cell) -> None:
    SCENARIOS[cell["scenario"]](Till(adapter, cell))
