#!/usr/bin/env python3
"""ClickHouse's HTTP interface as far as inserts use it, over the engine of PyPI's `chdb`.

The protocol is a recorded one: parameters in the address, credentials in headers, rows in the body.
The statement of the address runs in the real engine, so a column of a wrong name or type fails. Each
message is answered 503 the first time; the second time it must come with the same token.
`POST /run` runs the statements of its body; `GET /messages` has what came.
"""

import http.server
import json
import sys
import tempfile
import urllib.parse

from chdb import session

ENGINE = session.Session(tempfile.mkdtemp(prefix="bardo-chdb-"))
MESSAGES: list = []
USER, PASSWORD = "bardo", "secret-of-clickhouse"
WANTED = {"async_insert": "1", "wait_for_async_insert": "1"}


def run(text: str) -> list:
    """Runs statements; answers the rows of the last one."""
    rows = []
    plain = "\n".join(line for line in text.splitlines() if not line.strip().startswith("--"))
    for statement in filter(None, (part.strip() for part in plain.split(";"))):
        answer = ENGINE.query(statement, "JSONEachRow").bytes().decode() if statement else ""
        rows = [json.loads(line) for line in answer.splitlines() if line]
    return rows


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status: int, value) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.answer(200, MESSAGES)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        try:
            if self.path == "/run":
                return self.answer(200, run(body))
            self.insert(body)
        except Exception as error:
            self.answer(400, f"{type(error).__name__}: {error}")

    def insert(self, body: str) -> None:
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        if (self.headers.get("X-ClickHouse-User"), self.headers.get("X-ClickHouse-Key")) != (USER, PASSWORD):
            return self.answer(403, "REQUIRED_PASSWORD")
        if any(query.get(name) != value for name, value in WANTED.items()) or query.get("database") != "default":
            return self.answer(400, f"unexpected settings: {query}")
        token = query["insert_deduplication_token"]
        first = all(one["token"] != token for one in MESSAGES)
        same = all(one["body"] == body for one in MESSAGES if one["token"] == token)
        MESSAGES.append({"token": token, "body": body, "same": same})
        if first:
            return self.answer(503, "TOO_MANY_SIMULTANEOUS_QUERIES")
        ENGINE.query(f"{query['query']}\n{body}")
        return self.answer(200, "")

    def log_message(self, *_parts) -> None:
        pass


def main() -> None:
    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    print(json.dumps({"event": "ready", "listen": "127.0.0.1:{}".format(server.server_address[1])}), flush=True)
    server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
