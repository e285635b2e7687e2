"""Starts the sandbox and the gateway from the built binary, and reads the sandbox's journal."""

import contextlib
import json
import pathlib
import urllib.request

from . import process, targets


def fetch(
    url: str, *, method: str = "GET", body: bytes | None = None, headers: dict | None = None, timeout: float = 10
) -> bytes:
    """A plain request on loopback; proxies of the environment do not apply."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url, data=body, method=method, headers=headers or {})
    with opener.open(request, timeout=timeout) as answer:
        return answer.read()


class Journal:
    """What the simulated services received."""

    def __init__(self, sandbox: str) -> None:
        self.url = f"http://{sandbox}/_sandbox/journal"

    def entries(self) -> list:
        return json.loads(fetch(self.url))["entries"]

    def clear(self) -> None:
        fetch(self.url, method="DELETE")


@contextlib.contextmanager
def world(gateway: pathlib.Path, direct: bool, scratch: pathlib.Path):
    """The servers of a run, up and ready; gone when the block ends."""
    with contextlib.ExitStack() as stack:
        argv = [gateway, "sandbox", "--listen", "127.0.0.1:0", "--json", "--fast"]
        sandbox = stack.enter_context(process.Server("sandbox", argv, scratch / "sandbox.log"))
        at = sandbox.ready()["listen"]
        if direct:
            yield targets.World(sandbox=at, gateway=None), [sandbox]
            return
        config = targets.write_config(at, scratch / "gateway.yaml")
        argv = [
            *(gateway, "serve", "--json"),
            *("--config", config),
            *("--data-dir", scratch / "data"),
            *("--listen", "127.0.0.1:0"),
            *("--admin-listen", "127.0.0.1:0"),
        ]
        server = stack.enter_context(process.Server("gateway", argv, scratch / "gateway.log"))
        yield targets.World(at, server.ready()["listen"], gateway), [sandbox, server]
