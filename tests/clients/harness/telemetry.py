"""Traces and metrics at a receiver that decodes with OpenTelemetry's own definitions.

Each cell has a gateway and a receiver to itself. It sends a few requests, ends the gateway, which
sends what waits, and then compares what arrived with the receipts.
"""

import base64
import contextlib
import json
import os
import pathlib
import signal
import sys
import threading
import urllib.error
import urllib.request

from agents import isolation
from telemetry import conventions

from . import install, process, services

MODEL = "claude-sonnet-5-5"
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CANARY, KEY = "canary-prompt-7c1f", "sk-canary-key-55d1"
STAGES = {"read", "plan", "dispatch", "await head", "finish"}


class Wrong(Exception):
    """Something that a cell claims is not so."""


def check(holds: bool, words: str) -> None:
    if not holds:
        raise Wrong(words)


def config(sandbox: str, telemetry: dict) -> dict:
    """The first backend is dead, so each request has two attempts."""
    return {
        "upstream": {"breaker": {"enabled": False}, "probe_every": "0s"},
        "providers": {
            "direct": {
                "keys": [
                    {
                        "provider": "anthropic",
                        "api_key": KEY,
                        "base_url": "http://127.0.0.1:9",
                        "models": [MODEL],
                    }
                ]
            },
            "openrouter": {"api_key": KEY, "base_url": f"http://{sandbox}/openrouter/api/v1"},
        },
        "inference": {"provider_order": ["direct", "openrouter"]},
        "telemetry": telemetry,
    }


class Scene:
    """A gateway, a receiver, and the simulated providers of the run."""

    def __init__(self, stack, binary, python, sandbox: str, place: pathlib.Path) -> None:
        self.stack, self.binary, self.sandbox, self.place = stack, binary, sandbox, place
        place.mkdir()
        argv = [python, install.HERE / "telemetry" / "receiver.py"]
        receiver = stack.enter_context(process.Server("receiver", argv, place / "receiver.log"))
        self.receiver = "http://{}".format(receiver.ready()["listen"])

    def start(self, telemetry: dict, **environment: str) -> None:
        path = self.place / "gateway.yaml"
        path.write_text(json.dumps(config(self.sandbox, telemetry), indent=2) + "\n")
        argv = [
            *(self.binary, "serve", "--json", "--config", path, "--data-dir", self.place / "data"),
            *("--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"),
        ]
        home = isolation.environment(self.place / "home", **environment)
        self.server = process.Server("gateway", argv, self.place / "gateway.log", home)
        ready = self.stack.enter_context(self.server).ready()
        self.root, self.admin = f"http://{ready['listen']}", f"http://{ready['admin_listen']}"

    def ask(self, stream: bool = False, **headers: str) -> dict:
        """Sends one request and answers its receipt."""
        body = {
            "model": MODEL,
            "stream": stream,
            "messages": [{"role": "user", "content": f"{CANARY} say hello"}],
            "bardo": {"session_id": "session-7", "golem_id": "golem-1", "subsystem": "context"},
        }
        opened = urllib_open(f"{self.root}/v1/chat/completions", json.dumps(body).encode(), headers)
        check(opened[0] == 200, f"the answer has status {opened[0]}: {opened[2][:300]}")
        id = opened[1]["x-bardo-request-id"]
        return json.loads(services.fetch(f"{self.root}/v1/receipts/{id}"))

    def metric(self, name: str) -> float:
        """The sum of the series of one metric."""
        lines = services.fetch(f"{self.admin}/metrics").decode().splitlines()
        found = [line.rsplit(" ", 1) for line in lines if line.split("{")[0].split(" ")[0] == name]
        check(bool(found), f"there is no metric {name}")
        return sum(float(value) for _name, value in found)

    def end(self) -> None:
        """Ends the gateway, which sends what waits, and waits for it."""
        os.killpg(self.server.child.pid, signal.SIGTERM)
        self.server.child.wait(30)

    def received(self, signal_name: str) -> list:
        """The messages of one signal: `traces` or `metrics`."""
        every = json.loads(services.fetch(f"{self.receiver}/received"))
        check(not any(one["unknown_fields"] for one in every), "a message has fields that the definitions lack")
        return [one for one in every if one["path"].endswith(signal_name)]

    def spans(self) -> list:
        out = []
        for one in self.received("traces"):
            for resource in one["message"]["resourceSpans"]:
                check(resource["schemaUrl"] == conventions.SCHEMA_URL, "the schema is another")
                for scope in resource["scopeSpans"]:
                    out += scope["spans"]
        return out


def urllib_open(url: str, body: bytes, headers: dict) -> tuple:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    every = {"content-type": "application/json", **{name.replace("_", "-"): text for name, text in headers.items()}}
    try:
        with opener.open(urllib.request.Request(url, data=body, headers=every), timeout=30) as answer:
            return answer.status, {name.lower(): text for name, text in answer.headers.items()}, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, {}, error.read().decode()


def hexadecimal(text: str) -> str:
    return base64.b64decode(text or "").hex()


def of_request(spans: list, id: str) -> tuple:
    """The server span of a request and its children: stages, attempts."""
    named = [
        span
        for span in spans
        if span["kind"] == "SPAN_KIND_SERVER" and conventions.attributes(span)["bardo.request_id"][1] == id
    ]
    check(len(named) == 1, f"{len(named)} server spans of {id}")
    children = [span for span in spans if span.get("parentSpanId") == named[0]["spanId"]]
    check(all(span["traceId"] == named[0]["traceId"] for span in children), "a child is in another trace")
    kinds = ("SPAN_KIND_INTERNAL", "SPAN_KIND_CLIENT")
    return named[0], *([span for span in children if span["kind"] == kind] for kind in kinds)


def cost_of(receipt: dict) -> str:
    """What the owner's provider asks: the gateway of these cells charges nobody."""
    return receipt["cost"]["provider_cost"]


def compare(receipt: dict, spans: list) -> None:
    """The spans of a request say what its receipt says."""
    server, stages, attempts = of_request(spans, receipt["request_id"])
    start, end = int(server["startTimeUnixNano"]), int(server["endTimeUnixNano"])
    for span in [*stages, *attempts]:
        inside = start <= int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]) <= end
        check(inside, f"{span['name']} is not within its request")
    names = {span["name"] for span in stages}
    check(STAGES <= names, f"stages are missing: {STAGES - names}")
    told = [conventions.attributes(span) for span in attempts]
    backends = [one["bardo.backend"][1] for one in told]
    check(backends == [one["provider"] for one in receipt["attempts"]], f"attempts at {backends}")
    check(told[0].get("error.type") == ("stringValue", "connection"), f"the dead backend: {told[0].get('error.type')}")
    last = {name: value for name, (_kind, value) in told[-1].items()}
    usage = receipt["usage"]
    for name in ("input", "output"):
        told_tokens, tokens = last[f"gen_ai.usage.{name}_tokens"], usage[f"{name}_tokens"]
        check(told_tokens == tokens > 0, f"{name} tokens: {told_tokens} and {tokens}")
    check(last["gen_ai.usage.cache_read.input_tokens"] == usage["cache_read_tokens"], "tokens from a cache")
    cost = cost_of(receipt)
    check(last["bardo.cost.usd"] == cost and float(cost) > 0, f"cost: {last['bardo.cost.usd']} and {cost}")
    check(abs(last["gen_ai.usage.cost"] - float(cost)) < 1e-9, "the cost as a number")
    check(last["bardo.cost.micro_usd"] == round(float(cost) * 1e6), "the cost as an integer")
    check(last["gen_ai.conversation.id"] == "session-7", "the conversation")
    check((last["server.address"], "server.port" in last) == ("127.0.0.1", True), "the address")
    wrong = [problem for span in [server, *stages, *attempts] for problem in conventions.problems(span)]
    check(not wrong, "; ".join(wrong))


def traces(scene: Scene) -> None:
    scene.start(
        {"otlp": {"every": "100ms", "headers": {"x-team": "one"}}},
        OTEL_EXPORTER_OTLP_ENDPOINT=scene.receiver,
        OTEL_SERVICE_NAME="gateway-of-a-test",
        OTEL_RESOURCE_ATTRIBUTES="deployment.environment.name=test",
    )
    receipts = [scene.ask(), scene.ask(stream=True)]
    traced = scene.ask(traceparent=f"00-{TRACE}-{PARENT}-01", tracestate="vendor=1")
    malformed = scene.ask(traceparent=f"00-{TRACE}-{PARENT}")
    scene.end()
    spans = scene.spans()
    for receipt in [*receipts, traced, malformed]:
        compare(receipt, spans)
    server, *_ = of_request(spans, traced["request_id"])
    check(traced["trace_id"] == TRACE == hexadecimal(server["traceId"]), "the caller's trace is continued")
    check(hexadecimal(server["parentSpanId"]) == PARENT, "the caller's span is the parent")
    check(server["traceState"] == "vendor=1", "the caller's state is kept")
    for receipt in [*receipts, malformed]:
        server, *_ = of_request(spans, receipt["request_id"])
        check("parentSpanId" not in server, "a request without a trace begins one")
        check(hexadecimal(server["traceId"]) == receipt["request_id"].removeprefix("req_"), "its id is the request's")
    first = scene.received("traces")[0]
    resource = conventions.attributes(first["message"]["resourceSpans"][0]["resource"])
    check(resource["service.name"][1] == "gateway-of-a-test", f"{resource}")
    check(resource["deployment.environment.name"][1] == "test", f"{resource}")
    check(first["headers"]["x-team"] == "one", "the configured header")
    for one in scene.received("traces"):
        raw = base64.b64decode(one["raw"])
        check(CANARY.encode() not in raw and KEY.encode() not in raw, "a prompt or a key was exported")
    journal = json.dumps(services.Journal(scene.sandbox).entries())
    check(TRACE not in journal, "the caller's trace went to a provider")


def langfuse(scene: Scene) -> None:
    scene.start(
        {"otlp": {"every": "100ms"}},
        LANGFUSE_PUBLIC_KEY="pk-lf-1",
        LANGFUSE_SECRET_KEY="sk-lf-2",
        LANGFUSE_BASE_URL=scene.receiver,
    )
    receipts = [scene.ask(), scene.ask(stream=True)]
    scene.end()
    every = scene.received("traces")
    check({one["path"] for one in every} == {"/api/public/otel/v1/traces"}, "the path")
    basic = "Basic " + base64.b64encode(b"pk-lf-1:sk-lf-2").decode()
    check(all(one["headers"]["authorization"] == basic for one in every), "the keys")
    spans = scene.spans()
    for receipt in receipts:
        compare(receipt, spans)
        server, _stages, attempts = of_request(spans, receipt["request_id"])
        told = {name: value for name, (_kind, value) in conventions.attributes(server).items()}
        check(told["langfuse.trace.name"] == "context", f"{told}")
        check((told["langfuse.user.id"], told["langfuse.session.id"]) == ("golem-1", "session-7"), f"{told}")
        last = {name: value for name, (_kind, value) in conventions.attributes(attempts[-1]).items()}
        check(last["langfuse.observation.type"] == "generation", f"{last}")
        usage = json.loads(last["langfuse.observation.usage_details"])
        check(usage.pop("total") == sum(usage.values()), f"{usage}")
        cost = json.loads(last["langfuse.observation.cost_details"])
        check(abs(cost["total"] - float(cost_of(receipt))) < 1e-9, f"{cost}")


def metrics(scene: Scene) -> None:
    scene.start({"otlp": {"traces": False}}, OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=f"{scene.receiver}/own/v1/metrics")
    receipts = [scene.ask(), scene.ask(stream=True)]
    scene.end()
    check(not scene.received("traces"), "traces were sent")
    (last,) = scene.received("metrics")[-1:]
    (scope,) = last["message"]["resourceMetrics"][0]["scopeMetrics"]
    found = {metric["name"]: metric for metric in scope["metrics"]}
    check(set(found) == set(conventions.METRICS), f"{set(found)}")
    wrong = [problem for metric in found.values() for problem in conventions.metric_problems(metric)]
    check(not wrong, "; ".join(wrong))
    tokens = {
        conventions.attributes(point)["gen_ai.token.type"][1]: point["sum"]
        for point in found["gen_ai.client.token.usage"]["histogram"]["dataPoints"]
    }
    check(tokens["output"] == sum(receipt["usage"]["output_tokens"] for receipt in receipts), f"{tokens}")
    points = found["gen_ai.server.request.duration"]["histogram"]["dataPoints"]
    check(sum(int(point["count"]) for point in points) == len(receipts), "not one count for each request")


def sampling(scene: Scene) -> None:
    scene.start(
        {"otlp": {"every": "100ms", "metrics": False}},
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=f"{scene.receiver}/own/v1/traces",
        OTEL_TRACES_SAMPLER="parentbased_traceidratio",
        OTEL_TRACES_SAMPLER_ARG="0",
    )
    for _ in range(3):
        scene.ask()
    scene.ask(traceparent=f"00-{TRACE}-{PARENT}-00")
    taken = scene.ask(traceparent=f"00-{TRACE}-{PARENT}-01")
    scene.end()
    spans = scene.spans()
    compare(taken, spans)
    check(len({span["traceId"] for span in spans}) == 1, "requests were exported that were not sampled")


def disabled(scene: Scene) -> None:
    scene.start({}, OTEL_EXPORTER_OTLP_ENDPOINT=scene.receiver, OTEL_SDK_DISABLED="true")
    scene.ask()
    scene.end()
    check(not scene.received(""), "something was sent")


def later(scene: Scene) -> None:
    """A receiver that answers 503 gets the same message again."""
    scene.start({"otlp": {"every": "100ms", "metrics": False, "endpoint": f"{scene.receiver}/later"}})
    receipt = scene.ask()
    wait_for(lambda: scene.metric("bardo_telemetry_exported_total") == 1)
    scene.end()
    compare(receipt, scene.spans())


def clickhouse(scene: Scene) -> None:
    """Each receipt is one row of the engine's table, and the queries of `deploy/` add them up."""
    argv = [install.venv("clickhouse"), install.HERE / "telemetry" / "clickhouse.py"]
    server = scene.stack.enter_context(process.Server("clickhouse", argv, scene.place / "clickhouse.log"))
    at = "http://{}".format(server.ready(60)["listen"])

    def run(text: str) -> list:
        return json.loads(services.fetch(f"{at}/run", method="POST", body=text.encode()))

    folder = install.REPO / "deploy" / "clickhouse"
    run((folder / "schema.sql").read_text())
    sink = {"url": at, "user": "bardo", "password": "env:CLICKHOUSE_PASSWORD", "every": "50ms"}
    # No trace is sampled, and every receipt is a row all the same.
    telemetry = {"otlp": {"sampler": "always_off"}, "clickhouse": sink}
    scene.start(telemetry, CLICKHOUSE_PASSWORD="secret-of-clickhouse")
    receipts = [scene.ask(), scene.ask(stream=True), scene.ask()]
    wait_for(lambda: scene.metric("bardo_telemetry_exported_total") == len(receipts))
    scene.end()
    messages = json.loads(services.fetch(f"{at}/messages"))
    check(len(messages) >= 2 and all(one["same"] for one in messages), "a token came with other rows")
    check(CANARY not in json.dumps(messages) and KEY not in json.dumps(messages), "a prompt or a key was exported")
    spent = sum(round(float(cost_of(receipt)) * 1e6) for receipt in receipts)
    tokens = sum(receipt["usage"]["output_tokens"] for receipt in receipts)
    for name, member in (("golem", "golem-1"), ("subsystem", "context"), ("session", "session-7")):
        (row,) = run((folder / "queries" / f"usage_by_{name}.sql").read_text())
        check(row[name] == member, f"{row}")
        check((int(row["requests"]), int(row["cost_micro_usd"])) == (len(receipts), spent), f"{row}, {spent}")
        check(name != "golem" or int(row["output_tokens"]) == tokens, f"{row}, {tokens}")
    check(run((folder / "queries" / "errors.sql").read_text()) == [], "errors")


def broken(place: str, dropped: bool):
    """Answers are unaffected by a receiver of this kind; what it does not get is counted."""

    def cell(scene: Scene) -> None:
        url = place.format(receiver=scene.receiver)
        # Where nothing may be dropped, the queue has room for all.
        settings = {"every": "10ms", "queue": 2 if dropped else 100, "batch": 1, "timeout": "200ms", "metrics": False, "endpoint": url}
        scene.start({"otlp": settings})
        for number in range(12):
            scene.ask(stream=number % 2 == 0)
        name = "bardo_telemetry_dropped_total" if dropped else "bardo_telemetry_exported_total"
        # A dead receiver holds one message while it is sent again, and the queue holds two.
        wait_for(lambda: scene.metric(name) >= 9)
        scene.end()
        check(scene.server.child.returncode == 0, f"the gateway ended with {scene.server.child.returncode}")

    return cell


def wait_for(holds) -> None:
    """Waits until something holds that is on its way."""
    pause = threading.Event()
    for _ in range(300):
        if holds():
            return
        pause.wait(0.1)
    raise Wrong("it did not come in 30 seconds")


SCENARIOS = {
    "traces": traces,
    "langfuse": langfuse,
    "metrics": metrics,
    "sampling": sampling,
    "disabled": disabled,
    "later": later,
    "clickhouse": clickhouse,
    "dead": broken("http://127.0.0.1:9", True),
    "slow": broken("{receiver}/hang", True),
    "status-500": broken("{receiver}/status/500", True),
    "status-400": broken("{receiver}/status/400", True),
    "garbage": broken("{receiver}/garbage", False),
}


class Telemetry:
    """Cells with a gateway and a receiver each."""

    name, stage = "telemetry", "fast"

    def install(self) -> None:
        self.python = install.venv("telemetry")
        install.venv("clickhouse")

    def cells(self, world, pattern) -> list:
        if world.direct:
            return []
        self.binary = world.binary
        cells = [self.cell(name) for name in SCENARIOS]
        return [cell for cell in cells if pattern is None or pattern.search(cell["id"])]

    def cell(self, name: str) -> dict:
        return {
            "id": f"telemetry.chat.openrouter.{name}",
            "client": self.name,
            "dialect": "chat",
            "backend": "openrouter",
            "scenario": name,
            "kind": "telemetry",
            "options": {},
        }

    def run(self, cells, world, scratch: pathlib.Path) -> dict:
        place = scratch / self.name
        place.mkdir()
        outcomes = {}
        with contextlib.ExitStack() as stack:
            argv = [self.binary, "sandbox", "--listen", "127.0.0.1:0", "--json", "--fast"]
            sandbox = stack.enter_context(process.Server("sandbox", argv, place / "sandbox.log")).ready()["listen"]
            for cell in cells:
                problem = self.played(cell, sandbox, place)
                outcomes[cell["id"]] = {"ok": problem is None, "detail": problem}
        return outcomes

    def played(self, cell: dict, sandbox: str, place: pathlib.Path) -> str | None:
        with contextlib.ExitStack() as stack:
            scene = Scene(stack, self.binary, self.python, sandbox, place / cell["scenario"])
            try:
                SCENARIOS[cell["scenario"]](scene)
            except Wrong as wrong:
                return str(wrong)
            except Exception as error:
                print(f"{cell['id']}: {error!r}", file=sys.stderr)
                return f"{type(error).__name__}: {error}"
        return None


CLIENTS = [Telemetry()]
