"""The description of both listeners, held against the specification of OpenAPI by a validator of
others. That each path answers as it is described is a test of the gateway itself.
"""

import contextlib
import json
import pathlib

from agents import isolation

from . import install, process, services

LISTENERS = ("listen", "admin_listen")


class OpenApi:
    """One cell for each listener."""

    name, stage = "openapi", "fast"

    def install(self) -> None:
        self.python = install.venv("openapi")

    def cells(self, world, pattern) -> list:
        if world.direct:
            return []
        self.binary = world.binary
        cells = [self.cell(name) for name in LISTENERS]
        return [cell for cell in cells if pattern is None or pattern.search(cell["id"])]

    def cell(self, name: str) -> dict:
        return {
            "id": f"openapi.json.sandbox.{name}",
            "client": self.name,
            "dialect": "json",
            "backend": "sandbox",
            "scenario": name,
            "kind": "openapi",
            "options": {},
        }

    def run(self, cells, world, scratch: pathlib.Path) -> dict:
        place = scratch / self.name
        place.mkdir()
        outcomes = {}
        with contextlib.ExitStack() as stack:
            argv = [
                *(self.binary, "serve", "--sandbox", "--fast", "--json"),
                *("--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"),
            ]
            home = isolation.environment(place / "home")
            gateway = process.Server("gateway", argv, place / "gateway.log", home)
            ready = stack.enter_context(gateway).ready()
            for cell in cells:
                document = place / f"{cell['scenario']}.json"
                document.write_bytes(services.fetch(f"http://{ready[cell['scenario']]}/openapi.json"))
                problem = self.problem(document)
                outcomes[cell["id"]] = {"ok": problem is None, "detail": problem}
        return outcomes

    def problem(self, document: pathlib.Path) -> str | None:
        version = json.loads(document.read_bytes())["openapi"]
        if not version.startswith("3.1."):
            return f"the version is {version}"
        done = process.run([self.python, "-m", "openapi_spec_validator", document], timeout=120)
        return None if done.code == 0 else done.tail(2000)


CLIENTS = [OpenApi()]
