"""Chat Completions through the official OpenAI SDK."""

import typing

import httpx_errors
import openai
import pydantic
from replies import Call, Reply, Unmet, arguments, check_status

STOPS = {"stop": "end", "tool_calls": "tools", "length": "length"}


class Verdict(pydantic.BaseModel):
    """The structured answer, as a user of the SDK declares it."""

    model_config = pydantic.ConfigDict(extra="forbid")
    verdict_kind: typing.Literal["calm", "storm"]
    knots: int


class Chat:
    sdk = openai

    def __init__(self, cell) -> None:
        self.cell = cell
        self.options = cell["options"]
        self.client = openai.OpenAI(
            base_url=cell["base_url"],
            api_key=cell["api_key"],
            max_retries=0,
            timeout=30,
            _strict_response_validation=True,
        )

    def request(self, history) -> dict:
        body = {"model": self.cell["model"], "messages": history}
        if self.options.get("tools"):
            body["tools"] = [
                {
                    "type": "function",
                    "function": {"name": t["name"], "description": t["description"], "parameters": t["schema"]},
                }
                for t in self.options["tools"]
            ]
        if self.options.get("thinking"):
            body["reasoning_effort"] = "high"
        return body

    def opening(self, prompt: str, image) -> list:
        if image is None:
            return [{"role": "system", "content": "Be brief."}, {"role": "user", "content": prompt}]
        url = f"data:image/png;base64,{image}"
        parts = [{"type": "text", "text": prompt}, {"type": "image_url", "image_url": {"url": url}}]
        return [{"role": "user", "content": parts}]

    def ask(self, history) -> Reply:
        if self.options.get("stream"):
            return self.streamed(history)
        answer = self.client.chat.completions.create(**self.request(history))
        (choice,) = answer.choices
        message = choice.message
        if message.role != "assistant":
            raise Unmet(f"role {message.role}")
        calls = [Call(c.id, c.function.name, arguments(c.function.arguments)) for c in message.tool_calls or []]
        if (choice.finish_reason == "tool_calls") != bool(calls):
            raise Unmet(f"finish_reason {choice.finish_reason} with {len(calls)} calls")
        echo = [message]
        if self.options.get("echo") == "plain":
            echo = [
                {
                    "role": "assistant",
                    "content": message.content,
                    "tool_calls": [
                        {"id": c.id, "type": "function", "function": c.function.model_dump(include={"name", "arguments"})}
                        for c in message.tool_calls or []
                    ],
                }
            ]
        usage = answer.usage
        if usage.total_tokens != usage.prompt_tokens + usage.completion_tokens:
            raise Unmet(f"totals do not add up: {usage}")
        return Reply(
            message.content or "", calls, STOPS[choice.finish_reason], usage.prompt_tokens, usage.completion_tokens, echo
        )

    def streamed(self, history) -> Reply:
        """Reads a stream to its end, holding it to the grammar of the dialect."""
        stream = self.client.chat.completions.create(
            **self.request(history), stream=True, stream_options={"include_usage": True}
        )
        merged = Merged(self.options)
        for chunk in stream:
            merged.add(chunk)
        return merged.reply()

    def extended(self, history, reply: Reply, results) -> list:
        tools = [{"role": "tool", "tool_call_id": id, "content": text} for id, text in results]
        return [*history, *reply.echo, *tools]

    def structured(self, prompt: str):
        answer = self.client.chat.completions.parse(
            **self.request(self.opening(prompt, None)), response_format=Verdict
        )
        return answer.choices[0].message.parsed.model_dump()

    def raw_stream(self, prompt: str):
        for chunk in self.client.chat.completions.create(**self.request(self.opening(prompt, None)), stream=True):
            for choice in chunk.choices:
                yield choice.delta.content or ""

    def failures(self):
        return (openai.APIError, *httpx_errors.TRANSPORT)

    def check_error(self, caught, options) -> None:
        check_status(openai, caught, options, "x-request-id")
        body = caught.body
        missing = [key for key in ("message", "type", "param", "code") if key not in body]
        if missing or not body["message"] or not body["type"]:
            raise Unmet(f"error body lacks {missing}: {body}")

    def models(self, cell) -> None:
        ids = [model.id for model in self.client.models.list()]
        if cell["model"] not in ids:
            raise Unmet(f"{cell['model']} not among {ids}")

    def embeddings(self, cell) -> None:
        words = ["one " + cell["prompt"], "two"]
        # By default the SDK asks for base64, which its own strict validation refuses before decoding it.
        lenient = self.client.with_options()
        lenient._strict_response_validation = False
        decoded = lenient.embeddings.create(model=cell["model"], input=words)
        answer = self.client.embeddings.create(model=cell["model"], input=words, encoding_format="float")
        for one, other in zip(decoded.data, answer.data, strict=True):
            if any(abs(a - b) > 1e-6 for a, b in zip(one.embedding, other.embedding, strict=True)):
                raise Unmet("base64 and float embeddings differ")
        sizes = {len(row.embedding) for row in answer.data}
        if [row.index for row in answer.data] != [0, 1] or len(sizes) != 1 or not all(
            isinstance(number, float) for number in answer.data[0].embedding
        ):
            raise Unmet(f"embedding rows {[row.index for row in answer.data]}, sizes {sizes}")


class Merged:
    """A chat stream put together again, as a careful client does it."""

    def __init__(self, options) -> None:
        self.usage_on_finish = options["usage_on_finish"]
        self.ids: set = set()
        self.text, self.calls = "", {}
        self.finish, self.usage = None, None
        self.extras: dict = {}
        self.roles = 0

    def add(self, chunk) -> None:
        self.ids.add((chunk.id, chunk.created))
        if self.usage is not None:
            raise Unmet("a chunk after the usage chunk")
        if not chunk.choices:
            self.usage = chunk.usage
            return
        (choice,) = chunk.choices
        if chunk.usage is not None:
            if not self.usage_on_finish or choice.finish_reason is None:
                raise Unmet("usage on a chunk with choices")
            self.usage = chunk.usage
        delta = choice.delta
        if self.finish is not None:
            raise Unmet("a choice after finish_reason")
        self.roles += delta.role == "assistant"
        self.text += delta.content or ""
        for fragment in delta.tool_calls or []:
            self.add_fragment(fragment)
        self.add_extras(delta.model_extra or {})
        self.finish = choice.finish_reason

    def add_fragment(self, fragment) -> None:
        call = self.calls.get(fragment.index)
        if call is None:
            if fragment.index != len(self.calls) or not fragment.id or not fragment.function.name:
                raise Unmet(f"first fragment of a call: {fragment}")
            call = self.calls[fragment.index] = {"id": fragment.id, "name": fragment.function.name, "arguments": ""}
        elif fragment.id is not None and fragment.id != call["id"]:
            raise Unmet(f"the id of call {fragment.index} changed")
        call["arguments"] += fragment.function.arguments or ""
        call.update(fragment.model_extra or {})

    def add_extras(self, extras: dict) -> None:
        """Reasoning travels beside the SDK's own fields; a client that cares keeps it."""
        if extras.get("reasoning_content"):
            self.extras["reasoning_content"] = self.extras.get("reasoning_content", "") + extras["reasoning_content"]
        for detail in extras.get("reasoning_details") or []:
            rows = self.extras.setdefault("reasoning_details", {})
            row = rows.setdefault(detail.get("index", 0), {})
            for key, value in detail.items():
                joins = key in ("text", "summary") and isinstance(row.get(key), str) and value
                row[key] = row[key] + value if joins else (row.get(key) if value is None else value)

    def reply(self) -> Reply:
        if len(self.ids) != 1 or self.roles != 1 or self.finish is None or self.usage is None:
            raise Unmet(f"ids {len(self.ids)}, roles {self.roles}, finish {self.finish}, usage {self.usage}")
        calls = [Call(c["id"], c["name"], arguments(c["arguments"])) for c in self.calls.values()]
        if (self.finish == "tool_calls") != bool(calls):
            raise Unmet(f"finish_reason {self.finish} with {len(calls)} calls")
        message = {"role": "assistant", "content": self.text or None}
        if "reasoning_content" in self.extras:
            message["reasoning_content"] = self.extras["reasoning_content"]
        if "reasoning_details" in self.extras:
            message["reasoning_details"] = list(self.extras["reasoning_details"].values())
        if calls:
            message["tool_calls"] = [
                {
                    "type": "function",
                    "id": c["id"],
                    "function": {"name": c["name"], "arguments": c["arguments"]},
                    **{key: value for key, value in c.items() if key not in ("id", "name", "arguments")},
                }
                for c in self.calls.values()
            ]
        usage = self.usage
        return Reply(self.text, calls, STOPS[self.finish], usage.prompt_tokens, usage.completion_tokens, [message])
