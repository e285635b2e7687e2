"""The transport exceptions that reach a caller while a stream is read.

The current SDKs speak through `httpx2` and the ones before through `httpx`; both let a
connection that breaks in mid-stream surface as the transport's own exception.
"""

import importlib

_FOUND = []
for _name in ("httpx", "httpx2"):
    try:
        _FOUND.append(importlib.import_module(_name).HTTPError)
    except ImportError:
        continue

TRANSPORT = tuple(_FOUND)
