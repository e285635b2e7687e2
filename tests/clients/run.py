#!/usr/bin/env python3
"""The proof with real clients: unmodified SDKs and agents against the gateway and its sandbox.

    tests/clients/run.py --gateway target/release/bardo-gateway --stage all

`--direct` points every SDK straight at the simulated service of its own dialect, which
checks the sandbox and this harness without a gateway in between. Needs Python and Node;
installs everything else by pinned version under `target/clients/`.
"""

import argparse
import concurrent.futures
import json
import pathlib
import re
import shutil
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from harness import browser, buying, clients, evidence, install, money, openapi, paying, prometheus, proxy_sales, report, routing, sales, services, telemetry  # noqa: E402


# What takes longest begins first, so that the rest is done beside it.
FIRST_INSTALLED = ("x402-rust", "aider", "browser")
FIRST_RUN = ("browser", "aider", "py-current", "py-previous")
# Compiled for minutes, with the time that others leave. They run last.
COMPILED = ("x402-rust",)
# Most of an installation is waiting for a registry.
INSTALLERS = 4


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gateway", type=pathlib.Path, required=True, help="the built bardo-gateway")
    parser.add_argument("--stage", choices=("fast", "slow", "all"), default="fast")
    parser.add_argument("--only", metavar="PATTERN", help="a regular expression over cell names")
    parser.add_argument("--direct", action="store_true", help="no gateway: each client against its own service")
    parser.add_argument("--jobs", type=int, default=3, help="clients at work at once")
    parser.add_argument("--junit", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--install-only", action="store_true", help="fetch what the stage needs, run nothing")
    parser.add_argument("--keep", action="store_true", help="keep the logs, also when all is well")
    return parser.parse_args()


def chosen(stage: str) -> list:
    suites = [clients, money, paying, sales, proxy_sales, buying, routing, browser, openapi, prometheus, telemetry]
    every = [client for suite in suites for client in suite.CLIENTS]
    return [client for client in every if stage in ("all", client.stage)]


def begun_first(names: tuple, of: list) -> list:
    """These clients before the others, in the order of the names."""
    return sorted(of, key=lambda client: names.index(client.name) if client.name in names else len(names))


def run_client(client, world, pattern, scratch: pathlib.Path) -> list:
    """Runs one client's cells; a client that breaks down fails its cells and no others."""
    cells = client.cells(world, pattern)
    if not cells:
        return []
    started = time.monotonic()
    try:
        outcomes = client.run(cells, world, scratch)
    except Exception as error:
        outcomes = {cell["id"]: {"ok": False, "detail": f"{type(error).__name__}: {error}"} for cell in cells}
    results = []
    for cell in cells:
        silent = {"ok": False, "detail": "the client's program gave no result"}
        outcome = outcomes.get(cell["id"], silent)
        named = {"client": client.name, "dialect": "", "seconds": None}
        results.append({**named, **cell, **outcome})
    seconds = time.monotonic() - started
    passed = sum(bool(result["ok"]) for result in results)
    print(f"{client.name}: {passed} of {len(results)} in {seconds:.1f} s", file=sys.stderr, flush=True)
    return results


def add_evidence(results: list, world, sandbox: str) -> None:
    """Joins the provider's side of each cell to the client's."""
    entries = evidence.by_marker(services.Journal(sandbox).entries(), [result["id"] for result in results])
    for result in results:
        found = evidence.problems(result, entries[result["id"]], world)
        if found:
            before = [result["detail"]] if result["detail"] else []
            result["ok"] = False
            result["detail"] = "\n".join([*before, *(f"journal: {problem}" for problem in found)])


def run_all(settings, scratch: pathlib.Path) -> list:
    wanted = chosen(settings.stage)
    with concurrent.futures.ThreadPoolExecutor(INSTALLERS) as pool:
        # Installing fails the run as a whole: without a client there is nothing to say about it.
        installed = {client.name: pool.submit(client.install) for client in begun_first(FIRST_INSTALLED, wanted)}
        for name, done in installed.items():
            if settings.install_only or name not in COMPILED:
                done.result()
        if settings.install_only:
            return []
        return run_installed(settings, scratch, wanted, installed)


def run_installed(settings, scratch: pathlib.Path, wanted: list, installed: dict) -> list:
    """Runs the clients, each once its installation has ended."""
    pattern = re.compile(settings.only) if settings.only else None

    def run(client) -> list:
        installed[client.name].result()
        return run_client(client, world, pattern, scratch)

    order = sorted(begun_first(FIRST_RUN, wanted), key=lambda client: client.name in COMPILED)
    with concurrent.futures.ThreadPoolExecutor(max(1, settings.jobs)) as pool:
        with services.world(settings.gateway.resolve(), settings.direct, scratch) as (world, servers):
            results = [result for batch in pool.map(run, order) for result in batch]
            add_evidence(results, world, world.sandbox)
            for server in servers:
                if not server.alive():
                    raise RuntimeError(f"the {server.name} died: {server.log.read_text(errors='replace')[-3000:]}")
    return results


def main() -> int:
    settings = options()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="bardo-clients-"))
    failed = True
    try:
        results = run_all(settings, scratch)
        versions = install.tool_versions()
        if settings.json:
            report.write_json(results, versions, settings.json)
        if settings.junit:
            report.write_junit(results, settings.junit)
        if results:
            print(report.table(results))
        bad = [result for result in results if not result["ok"]]
        if bad:
            print(report.failures(bad), "\n")
        print(f"{len(results) - len(bad)} passed, {len(bad)} failed")
        failed = bool(bad)
        # A pattern that finds nothing is a typing mistake, and a run of nothing proves nothing.
        return 1 if failed or (not results and not settings.install_only) else 0
    except (RuntimeError, OSError, json.JSONDecodeError) as error:
        print(f"clients: {error}", file=sys.stderr)
        return 1
    finally:
        if failed or settings.keep:
            print(f"logs: {scratch}", file=sys.stderr)
        else:
            shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
