"""The console in a real Chromium: every page at two widths, light and dark, by keyboard, with axe."""

import json
import os
import pathlib
import shutil
import subprocess

from . import install, process, services

HERE = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = HERE / "sdk" / "js" / "browser.mjs"
PROGRAM_TIMEOUT = 900
TOKEN = "operators-0123456789"
READ_TOKEN = "readers-0123456789"
# Pages by the names of their cells.
PAGES = {
    "overview": "/console/",
    "requests": "/console/requests",
    "receipt": "/console/requests/{request}",
    "golems": "/console/golems",
    "venice": "/console/venice",
    "cache": "/console/cache",
    "playground": "/console/playground",
    "connect": "/console/connect",
    "routing": "/console/routing",
    "keys": "/console/keys?new=1",
    "key": "/console/keys/{key}",
    "accounts": "/console/accounts",
    "payments": "/console/payments",
    "account": "/console/accounts/{account}",
    "providers": "/console/providers",
    "provider": "/console/providers/openrouter",
    "models": "/console/models",
    "settings": "/console/settings",
    "missing": "/console/nothing",
}
WIDTHS = (1440, 360)
SCHEMES = ("light", "dark")
# What a person does, each as a cell of its own.
DEEDS = (
    "palette-opens-a-page-by-keyboard",
    "theme-and-menu-by-keyboard",
    "filters-are-in-the-address",
    "a-key-is-created-changed-and-revoked-by-keyboard",
    "markup-in-names-is-text",
    "the-playground-streams-two-models",
    "a-tool-is-connected-and-its-first-request-is-seen",
    "the-live-feed-shows-a-request",
    "calls-of-venice-appear-as-they-happen",
    "an-empty-gateway-says-what-to-do-next",
    "a-login-leads-back-and-a-logout-ends-it",
    "a-reader-changes-nothing",
    "a-session-that-ended-changes-nothing",
)


def chromium() -> str:
    """The browser: named by the environment, installed, or fetched as Debian's package."""
    named = os.environ.get("BARDO_TEST_CHROMIUM")
    if named:
        return named
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    if os.geteuid() == 0 and shutil.which("apt-get"):
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        argv = ["apt-get", "install", "--yes", "--no-install-recommends", "chromium", "fonts-dejavu-core"]
        if subprocess.run(argv, env=env, capture_output=True, check=False).returncode != 0:
            subprocess.run(["apt-get", "update"], env=env, capture_output=True, check=False)
            subprocess.run(argv, env=env, capture_output=True, check=False)
        if found := shutil.which("chromium"):
            return found
    raise RuntimeError("no Chromium was found; install it (apt-get install chromium), or set BARDO_TEST_CHROMIUM to it")


class Browser:
    """The console as a person with a keyboard uses it."""

    name = "browser"
    stage = "slow"

    def install(self) -> None:
        self.modules = install.npm("browser")
        self.chromium = chromium()

    def cells(self, world, pattern) -> list:
        if world.direct:
            return []
        pages = [(f"page.{name}.{width}.{scheme}", path) for name, path in PAGES.items() for width in WIDTHS for scheme in SCHEMES]
        names = [*pages, *((f"deed.{deed}", "") for deed in DEEDS)]
        cells = [
            {"id": f"browser.{name}", "kind": "printed", "scenario": name, "backend": "", "options": {}, "path": path}
            for name, path in names
        ]
        return [cell for cell in cells if not pattern or pattern.search(cell["id"])]

    def run(self, cells, world, scratch: pathlib.Path) -> dict:
        place = scratch / "browser"
        place.mkdir()
        config = {
            "server": {"admin_token": TOKEN, "admin_read_token": READ_TOKEN},
            "providers": {
                "direct": {
                    "keys": [
                        {"provider": "openai", "api_key": "k", "base_url": f"http://{world.sandbox}/openai/v1", "models": ["*"]}
                    ]
                }
            },
        }
        (place / "locked.yaml").write_text(json.dumps(config))
        addresses = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]
        argv = [world.binary, "serve", "--sandbox", "--fast", "--json", "--data-dir", place / "open", *addresses]
        locked = [world.binary, "serve", "--json", "--config", place / "locked.yaml", "--data-dir", place / "locked", *addresses]
        with process.Server("open", argv, place / "open.log") as open_server, process.Server("locked", locked, place / "locked.log") as locked_server:
            ready = open_server.ready()
            plan = {
                "cells": cells,
                "chromium": self.chromium,
                "open": {"admin": f"http://{ready['admin_listen']}", "data": f"http://{ready['listen']}", "key": ready["key"]},
                "locked": {"admin": f"http://{locked_server.ready()['admin_listen']}", "token": TOKEN, "read_token": READ_TOKEN},
                "screenshots": os.environ.get("BARDO_SCREENSHOTS"),
            }
            wait_for(plan["open"]["admin"])
            shutil.copy(PROGRAM, self.modules / "browser.mjs")
            done = process.run(["node", self.modules / "browser.mjs"], timeout=PROGRAM_TIMEOUT, stdin=json.dumps(plan), cwd=self.modules)
        outcomes = {}
        for line in done.stdout.splitlines():
            if line.startswith("{"):
                row = json.loads(line)
                outcomes[row["id"]] = {"ok": row["ok"], "detail": row["detail"], "seconds": row.get("seconds")}
        for cell in cells:
            outcomes.setdefault(cell["id"], {"ok": False, "detail": f"not reached: {done.tail()}"})
        return outcomes


def wait_for(admin: str) -> None:
    services.fetch(f"{admin}/health/ready")


CLIENTS = [Browser()]
