"""What the three dialects' answers have in common, and what a cell expects of them."""

import dataclasses
import json
import typing


class Unmet(Exception):
    """The client got an answer, and it is not the one that was scripted."""


@dataclasses.dataclass
class Call:
    id: str
    name: str
    args: typing.Any


@dataclasses.dataclass
class Reply:
    """One assistant turn; `echo` is what the client sends back of it in the next request."""

    text: str
    calls: list
    # In the harness's words: end, tools, length.
    stop: str
    input_tokens: int
    output_tokens: int
    echo: list


def arguments(raw: str):
    """A call's arguments as the client's tool would read them."""
    try:
        return json.loads(raw)
    except ValueError:
        raise Unmet(f"arguments are not JSON: {raw!r}") from None


def check_loop(cell, reply: Reply, rounds, turns: int) -> None:
    """The whole exchange against the script."""
    expect = cell["expect"]
    got = [[{"name": call.name, "args": call.args} for call in calls] for calls in rounds]
    if got != expect.get("calls", []):
        raise Unmet(f"calls {json.dumps(got, ensure_ascii=False)}, wanted {json.dumps(expect['calls'], ensure_ascii=False)}")
    ids = [call.id for calls in rounds for call in calls]
    if len(set(ids)) != len(ids) or not all(ids):
        raise Unmet(f"call ids are not distinct: {ids}")
    if "text" in expect and reply.text != expect["text"]:
        raise Unmet(f"text {reply.text!r}, wanted {expect['text']!r}")
    for part in expect.get("contains", []):
        if part not in reply.text:
            raise Unmet(f"{part!r} not in {reply.text!r}")
    if turns != expect["turns"]:
        raise Unmet(f"{turns} turns, wanted {expect['turns']}")
    wanted = cell["options"].get("stop", "end")
    if reply.stop != wanted:
        raise Unmet(f"stopped with {reply.stop!r}, wanted {wanted!r}")
    if reply.input_tokens <= 0 or reply.output_tokens <= 0:
        raise Unmet(f"usage {reply.input_tokens} in, {reply.output_tokens} out")


# The class each SDK must raise, by status below 500.
CLASSES = {
    400: "BadRequestError",
    401: "AuthenticationError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    413: "RequestTooLargeError",
    422: "UnprocessableEntityError",
    429: "RateLimitError",
}


def check_status(sdk, caught, options, request_id_header: str) -> None:
    """Status, class, request id and hints, the same for both SDKs."""
    status = caught.status_code
    if status not in options["status"]:
        raise Unmet(f"status {status}, wanted one of {options['status']}: {caught}")
    wanted = getattr(sdk, CLASSES.get(status, ""), None)
    # Some majors have classes of their own for 503, 504 and 529, beside the one for 500.
    right = isinstance(caught, wanted) if wanted else type(caught) is not sdk.APIStatusError
    if not right:
        raise Unmet(f"{type(caught).__name__} for {status}, wanted {wanted.__name__ if wanted else 'a 5xx class'}")
    if options["request_id"] and not (caught.response.headers.get(request_id_header) and caught.request_id):
        raise Unmet(f"no {request_id_header} on the error")
    if options.get("secret") and options["secret"] in f"{caught} {caught.body}":
        raise Unmet("the error shows the provider's key")
    if options.get("retry_after") and not caught.response.headers.get("retry-after"):
        raise Unmet("429 without retry-after")
