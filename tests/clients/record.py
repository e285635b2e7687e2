#!/usr/bin/env python3
"""Records what Claude Code and Codex really send first, as fixtures.

Run it by hand after a version pin moved: it starts a server on loopback that writes
down one request and refuses it, points each client at it, scrubs what belongs to the
machine or the session, and writes `fixtures/*-request*.json`:
`{client, version, method, path, headers: [[name, value], …], body}` where `body` is
the request's text, byte for byte apart from the scrubbing.
"""

import http.server
import itertools
import json
import pathlib
import re
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from agents import claude_code, codex  # noqa: E402
from harness import install  # noqa: E402

PROMPT = "Read notes.txt and say what is in it."
REFUSAL = b'{"error":{"message":"recorded","type":"invalid_request_error","param":null,"code":null}}'


class Recorder(http.server.ThreadingHTTPServer):
    """Keeps every request and answers 400, which ends the client's turn at once."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.server.seen.append((self.command, self.path, list(self.headers.items()), body.decode()))
        self.send_response(400)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(REFUSAL)))
        self.end_headers()
        self.wfile.write(REFUSAL)

    do_POST = do_GET = do_HEAD = answer

    def log_message(self, *_args) -> None:
        """Quiet."""


UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def scrub(text: str, places: dict) -> str:
    """Replaces ids, paths and machine facts; equal ids stay equal, so their joins survive."""
    for real, shown in places.items():
        text = text.replace(real, shown)
    ids: dict = {}

    def stand_in(match) -> str:
        number = ids.setdefault(match.group(0), len(ids) + 1)
        return f"00000000-0000-7000-8000-{number:012d}"

    text = UUID.sub(stand_in, text)
    text = re.sub(r'(device_id\\?\\?": ?\\?\\?")[0-9a-f]{64}', r"\g<1>" + "0" * 64, text)
    text = re.sub(r"OS Version: [^\\\n]*", "OS Version: Linux 6.12.0", text)
    text = re.sub(r"turn_started_at_unix_ms(\\*\"): ?\d+", r"turn_started_at_unix_ms\1:1795000000000", text)
    text = re.sub(r"<current_date>[^<]*", "<current_date>2026-11-20", text)
    return re.sub(r"<timezone>[^<]*", "<timezone>Etc/UTC", text)


# The prose of a client belongs to its makers; its length, lines and escapes are what matters here.
LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"')
TOKEN = re.compile(r"\\u[0-9a-fA-F]{4}|\\.|[A-Za-z]+|.", re.DOTALL)
FILLER = "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor".split()
PROSE = 120


def without_prose(body: str) -> str:
    """The body with the words of long texts replaced by filler of the same length."""
    words = itertools.count()

    def filler(token) -> str:
        text = token.group(0)
        if not text.isascii() or not text.isalpha():
            return text
        word = FILLER[next(words) % len(FILLER)]
        return (word * (len(text) // len(word) + 1))[: len(text)]

    def literal(match) -> str:
        text = match.group(0)
        is_key = body[match.end() :].lstrip()[:1] == ":" if len(text) > PROSE else True
        return text if is_key else TOKEN.sub(filler, text)

    return LITERAL.sub(literal, body)


# Where the request went is not what was sent, and the key is nobody's business.
DROPPED_HEADERS = {"host", "authorization", "x-api-key", "content-length", "connection"}


def write(name: str, client: str, version: str, request, places: dict) -> None:
    method, path, headers, body = request
    kept = [[key, value] for key, value in headers if key.lower() not in DROPPED_HEADERS]
    # One pass over all of it, so an id in a header and in the body stays the same id.
    mark = "\u0001"
    whole = scrub(mark.join([body, *(value for _key, value in kept)]), places).split(mark)
    record = {
        "client": client,
        "version": version,
        "method": method,
        "path": path,
        "headers": [[key, value] for (key, _old), value in zip(kept, whole[1:])],
        "body": without_prose(whole[0]),
    }
    json.loads(record["body"])
    (HERE / "fixtures" / name).write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    print(f"{name}: body of {len(record['body'].encode())} bytes")


def main() -> int:
    modules = install.npm("agents")
    pins = json.loads((modules / "package.json").read_text())["dependencies"]
    with tempfile.TemporaryDirectory(prefix="record-") as scratch:
        home, work = pathlib.Path(scratch, "home"), pathlib.Path(scratch, "project")
        work.mkdir()
        (work / "notes.txt").write_text("The harbor opens at six.\n")
        places = {
            str(work).replace("/", "-"): "-home-dev-project",
            str(work): "/home/dev/project",
            str(home): "/home/dev",
        }
        recorder = Recorder()
        claude_code.start(modules, recorder.url, "k", "claude-sonnet-5-5", PROMPT, home, work)
        first = next(entry for entry in recorder.seen if "/v1/messages" in entry[1])
        write("claude-code-request.json", "claude-code", pins["@anthropic-ai/claude-code"], first, places)
        for model, name in (("gpt-5.5", "codex-request.json"), ("gpt-6-sol", "codex-request-gpt-6.json")):
            recorder.seen.clear()
            codex.start(modules, recorder.url + "/v1", "k", model, PROMPT, home, work)
            first = next(entry for entry in recorder.seen if entry[1].startswith("/v1/responses"))
            write(name, "codex", pins["@openai/codex"], first, places)
        recorder.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
