"""The files for Prometheus and Grafana, held against a real Prometheus and a running gateway.

`BARDO_TEST_PROMETHEUS` is the folder with `prometheus` and `promtool`; `cargo xtask servers` fetches
them where the machine has none.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import socket
import threading
import urllib.error
import urllib.parse

from agents import isolation

from . import install, process, services

DEPLOY = install.REPO / "deploy"
RULES = DEPLOY / "prometheus" / "rules.yml"
NAME = re.compile(r"\bbardo_[a-z0-9_]+")


def tool(name: str) -> str:
    folder = os.environ.get("BARDO_TEST_PROMETHEUS")
    found = shutil.which(name, path=folder) if folder else shutil.which(name)
    if not found:
        raise RuntimeError(f"{name} is not here; run `cargo xtask servers` and set BARDO_TEST_PROMETHEUS")
    return found


def promtool(*argv) -> str | None:
    """What `promtool` finds wrong."""
    done = process.run([tool("promtool"), *argv], timeout=60, cwd=DEPLOY / "prometheus")
    return None if done.code == 0 else f"promtool {argv[0]} {argv[1]}: {done.tail()}"


def expressions(dashboard: dict) -> list:
    return [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]


def answers(url: str) -> bool:
    with contextlib.suppress(OSError):
        services.fetch(url)
        return True
    return False


def wait_for(holds, what: str) -> None:
    pause = threading.Event()
    for _ in range(600):
        if holds():
            return
        pause.wait(0.1)
    raise RuntimeError(f"{what} did not come in 60 seconds")


def known_names(text: str) -> set:
    """The names that `/metrics` has, with the series of histograms."""
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    out = set()
    for name, kind in kinds.items():
        ends = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}.get(kind, ("",))
        out |= {name + end for end in ends}
    return out


class Deployed:
    """A sandbox with a gateway and a Prometheus that scrapes it."""

    def __init__(self, stack, binary, place: pathlib.Path) -> None:
        # A telemetry sink that is not there has series too.
        home = isolation.environment(place / "home", OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
        argv = [
            *(binary, "serve", "--sandbox", "--payments", "--fast", "--json"),
            *("--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"),
        ]
        server = stack.enter_context(process.Server("gateway", argv, place / "gateway.log", home))
        ready = server.ready()
        self.admin = ready["admin_listen"]
        self.at, self.key = ready["listen"], ready.get("key", "")
        # Series exist once they have been counted: a long prompt, a failure and a refusal.
        self.ask("gpt-5.5", "word " * 3000)
        fault = {"steps": [{"text": "none", "fault": {"kind": "status", "status": 500}}]}
        self.ask("claude-sonnet-5-5", "hello bardo-script: " + json.dumps(fault))
        self.ask("no-such-model", "hello")
        self.metrics = services.fetch(f"http://{self.admin}/metrics").decode()
        shutil.copy(RULES, place / "rules.yml")
        config = (DEPLOY / "prometheus" / "prometheus.yml").read_text()
        config = config.replace("127.0.0.1:8403", self.admin).replace("15s", "1s")
        (place / "prometheus.yml").write_text(config)
        self.url = self.started(stack, place)

    def ask(self, model: str, prompt: str) -> None:
        body = json.dumps({"model": model, "messages": [{"role": "user", "content": prompt}]}).encode()
        headers = {"content-type": "application/json", "authorization": f"Bearer {self.key}"}
        with contextlib.suppress(urllib.error.HTTPError):
            services.fetch(f"http://{self.at}/v1/chat/completions", method="POST", body=body, headers=headers)

    def started(self, stack, place: pathlib.Path) -> str:
        # Prometheus takes no port 0, so a free one is looked for.
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            at = "127.0.0.1:{}".format(free.getsockname()[1])
        argv = [
            *(tool("prometheus"), f"--config.file={place / 'prometheus.yml'}"),
            *(f"--storage.tsdb.path={place / 'tsdb'}", f"--web.listen-address={at}", "--log.level=warn"),
        ]
        stack.enter_context(process.Server("prometheus", argv, place / "prometheus.log"))
        wait_for(lambda: answers(f"http://{at}/-/ready"), "Prometheus")
        return f"http://{at}"

    def get(self, path: str, **query: str) -> dict:
        url = f"{self.url}/api/v1/{path}"
        url += "?" + urllib.parse.urlencode(query) if query else ""
        return json.loads(services.fetch(url))["data"]

    def rules(self) -> list:
        return [rule for group in self.get("rules")["groups"] for rule in group["rules"]]


def files(_deployed) -> str | None:
    checks = [("check", "rules", "rules.yml"), ("check", "config", "prometheus.yml"), ("test", "rules", "rules_test.yml")]
    return "\n".join(filter(None, (promtool(*argv) for argv in checks))) or None


def names(deployed) -> str | None:
    """Each metric that a rule or a panel names is one that the gateway has."""
    known = known_names(deployed.metrics)
    dashboard = json.loads((DEPLOY / "grafana" / "bardo.json").read_text())
    panels = expressions(dashboard)
    if len(panels) < 15:
        return f"only {len(panels)} expressions"
    used = set(NAME.findall(" ".join(panels))) | {
        name for line in RULES.read_text().splitlines() if "expr:" in line for name in NAME.findall(line)
    }
    unknown = {name for name in used if name not in known}
    return f"metrics that the gateway lacks: {sorted(unknown)}" if unknown else None


def scrape(deployed) -> str | None:
    """Prometheus scrapes the gateway and evaluates each rule without an error."""
    wait_for(lambda: deployed.get("query", query='up{job="bardo-gateway"} == 1')["result"], "the scrape")
    wait_for(lambda: all(rule["health"] != "unknown" for rule in deployed.rules()), "the rules")
    bad = [f"{rule['name']}: {rule.get('lastError')}" for rule in deployed.rules() if rule["health"] != "ok"]
    found = deployed.get("query", query="sum(bardo_requests_total)")["result"]
    if not found or float(found[0]["value"][1]) < 1:
        bad.append("the request was not counted")
    return "\n".join(bad) or None


def panels(deployed) -> str | None:
    """Prometheus understands the expression of each panel."""
    bad = []
    for expression in expressions(json.loads((DEPLOY / "grafana" / "bardo.json").read_text())):
        plain = expression.replace("$__rate_interval", "5m").replace("$instance", ".*")
        try:
            deployed.get("query", query=plain)
        except urllib.error.HTTPError as error:
            bad.append(f"{plain}: {error.read().decode()[:200]}")
    return "\n".join(bad) or None


SCENARIOS = {"files": files, "names": names, "scrape": scrape, "panels": panels}


class Prometheus:
    name, stage = "prometheus", "fast"

    def install(self) -> None:
        """Both programs are fetched by `cargo xtask servers`."""

    def cells(self, world, pattern) -> list:
        if world.direct:
            return []
        self.binary = world.binary
        cells = [
            {
                "id": f"prometheus.metrics.sandbox.{name}",
                "client": self.name,
                "dialect": "metrics",
                "backend": "sandbox",
                "scenario": name,
                "kind": "telemetry",
                "options": {},
            }
            for name in SCENARIOS
        ]
        return [cell for cell in cells if pattern is None or pattern.search(cell["id"])]

    def run(self, cells, world, scratch: pathlib.Path) -> dict:
        place = scratch / self.name
        place.mkdir()
        outcomes = {}
        with contextlib.ExitStack() as stack:
            deployed = Deployed(stack, self.binary, place)
            for cell in cells:
                problem = SCENARIOS[cell["scenario"]](deployed)
                outcomes[cell["id"]] = {"ok": problem is None, "detail": problem}
        return outcomes


CLIENTS = [Prometheus()]
