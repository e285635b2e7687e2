#!/usr/bin/env python3
"""An OTLP receiver over HTTP that decodes with the protobuf definitions of OpenTelemetry.

It shares no code with the gateway. `POST …/v1/traces` and `…/v1/metrics` are decoded and kept;
`GET /received` has them as JSON. The first part of a path sets how it behaves: `/status/500/…`
answers 500, `/garbage/…` answers 200 with bytes that are no message, `/hang/…` answers nothing until
`POST /release`, `/later/…` answers 503 once to each message.
"""

import base64
import http.server
import json
import sys
import threading

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse

KINDS = {"/v1/traces": ExportTraceServiceRequest, "/v1/metrics": ExportMetricsServiceRequest}


class Received:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.released = threading.Event()
        self.messages: list = []
        self.seen: set = set()

    def add(self, path: str, headers: dict, body: bytes, kind) -> None:
        message = kind.FromString(body)
        # An unknown field would be one that the definitions do not have.
        unknown = message.SerializeToString(deterministic=True) != kind.FromString(
            json_round(message, kind)
        ).SerializeToString(deterministic=True)
        entry = {
            "path": path,
            "headers": headers,
            "unknown_fields": unknown,
            "raw": base64.b64encode(body).decode(),
            "message": json_format.MessageToDict(message),
        }
        with self.lock:
            self.messages.append(entry)

    def is_first(self, body: bytes) -> bool:
        with self.lock:
            first = body not in self.seen
            self.seen.add(body)
        return first


def json_round(message, kind) -> bytes:
    return json_format.Parse(json_format.MessageToJson(message), kind()).SerializeToString()


RECEIVED = Received()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        with RECEIVED.lock:
            body = json.dumps(RECEIVED.messages).encode()
        self.answer(200, body, "application/json")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/release":
            RECEIVED.released.set()
            return self.answer(200, b"", "text/plain")
        parts = self.path.split("/")
        if parts[1] == "status":
            return self.answer(int(parts[2]), b"no", "text/plain")
        if parts[1] == "hang":
            RECEIVED.released.wait(60)
            return self.answer(503, b"", "text/plain")
        if parts[1] == "later" and RECEIVED.is_first(body):
            return self.answer(503, b"", "text/plain")
        kind = next((kind for end, kind in KINDS.items() if self.path.endswith(end)), None)
        if kind is None or self.headers.get("Content-Type") != "application/x-protobuf":
            return self.answer(415, b"", "text/plain")
        headers = {name.lower(): value for name, value in self.headers.items()}
        RECEIVED.add(self.path, headers, body, kind)
        if parts[1] == "garbage":
            return self.answer(200, b"\xff\xfe no message", "application/x-protobuf")
        return self.answer(200, ExportTraceServiceResponse().SerializeToString(), "application/x-protobuf")

    def log_message(self, *_parts) -> None:
        pass


def main() -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(json.dumps({"event": "ready", "listen": "127.0.0.1:{}".format(server.server_address[1])}), flush=True)
    server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
