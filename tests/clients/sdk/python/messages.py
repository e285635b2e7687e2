"""Anthropic Messages through the official SDK."""

import anthropic
import httpx_errors
from chat import Verdict
from replies import Call, Reply, Unmet, check_status

STOPS = {"end_turn": "end", "tool_use": "tools", "max_tokens": "length"}


class Messages:
    sdk = anthropic

    def __init__(self, cell) -> None:
        self.cell = cell
        self.options = cell["options"]
        self.client = anthropic.Anthropic(
            base_url=cell["base_url"],
            api_key=cell["api_key"],
            max_retries=0,
            timeout=30,
            _strict_response_validation=True,
        )

    def request(self, history) -> dict:
        body = {"model": self.cell["model"], "max_tokens": 4000, "messages": history, "system": "Be brief."}
        if self.options.get("tools"):
            body["tools"] = [
                {"name": t["name"], "description": t["description"], "input_schema": t["schema"]}
                for t in self.options["tools"]
            ]
        if self.options.get("thinking"):
            body["thinking"] = {"type": "adaptive", "display": "summarized"}
        return body

    def opening(self, prompt: str, image) -> list:
        if image is None:
            return [{"role": "user", "content": prompt}]
        source = {"type": "base64", "media_type": "image/png", "data": image}
        return [{"role": "user", "content": [{"type": "image", "source": source}, {"type": "text", "text": prompt}]}]

    def ask(self, history) -> Reply:
        if self.options.get("stream"):
            return self.read(self.streamed(history))
        return self.read(self.client.messages.create(**self.request(history)))

    def read(self, answer) -> Reply:
        calls = [Call(block.id, block.name, block.input) for block in answer.content if block.type == "tool_use"]
        if (answer.stop_reason == "tool_use") != bool(calls):
            raise Unmet(f"stop_reason {answer.stop_reason} with {len(calls)} calls")
        for block in answer.content:
            if block.type == "thinking" and not block.signature:
                raise Unmet("a thinking block without a signature")
            if block.type == "text" and not block.text:
                raise Unmet("an empty text block")
        text = "".join(block.text for block in answer.content if block.type == "text")
        usage = answer.usage
        whole = usage.input_tokens + (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0)
        echo = [{"role": "assistant", "content": answer.content}]
        return Reply(text, calls, STOPS[answer.stop_reason], whole, usage.output_tokens, echo)

    def run_tools(self, prompt: str, called):
        """Each reply of the SDK's own loop; `called` answers its calls."""

        def tool(definition):
            def run(**_arguments):
                return called(definition["name"])

            return anthropic.beta_tool(
                run,
                name=definition["name"],
                description=definition["description"],
                input_schema=definition["schema"],
            )

        request = self.request(self.opening(prompt, None))
        request["tools"] = [tool(definition) for definition in self.options["tools"]]
        for answer in self.client.beta.messages.tool_runner(**request):
            yield self.read(answer)

    def streamed(self, history):
        """The SDK's own accumulator, while the raw events are held to the grammar."""
        seen, open_index, next_index = [], None, 0
        with self.client.messages.stream(**self.request(history)) as stream:
            for event in stream:
                kind = event.type
                if kind == "content_block_start":
                    if open_index is not None or event.index != next_index:
                        raise Unmet(f"block {event.index} started while {open_index} is open")
                    open_index, next_index = event.index, next_index + 1
                elif kind == "content_block_delta" and event.index != open_index:
                    raise Unmet(f"a delta for block {event.index} while {open_index} is open")
                elif kind == "content_block_stop":
                    if event.index != open_index:
                        raise Unmet(f"block {event.index} stopped while {open_index} is open")
                    open_index = None
                if kind in ("message_start", "message_delta", "message_stop"):
                    seen.append(kind)
            final = stream.get_final_message()
        if seen[0] != "message_start" or seen[-1] != "message_stop" or seen.count("message_delta") < 1:
            raise Unmet(f"events {seen}")
        return final

    def extended(self, history, reply: Reply, results) -> list:
        blocks = [{"type": "tool_result", "tool_use_id": id, "content": text} for id, text in results]
        return [*history, *reply.echo, {"role": "user", "content": blocks}]

    def structured(self, prompt: str):
        answer = self.client.messages.parse(**self.request(self.opening(prompt, None)), output_format=Verdict)
        return answer.parsed_output.model_dump()

    def raw_stream(self, prompt: str):
        stopped = False
        for event in self.client.messages.create(**self.request(self.opening(prompt, None)), stream=True):
            if event.type == "content_block_delta" and event.delta.type == "text_delta":
                yield event.delta.text
            stopped = stopped or event.type == "message_stop"
        if not stopped:
            raise Unmet("the stream ended without message_stop and without an exception")

    def failures(self):
        return (anthropic.APIError, *httpx_errors.TRANSPORT)

    def check_error(self, caught, options) -> None:
        check_status(anthropic, caught, options, "request-id")
        body = caught.body
        inner = body.get("error") or {}
        if body.get("type") != "error" or not inner.get("type") or not inner.get("message"):
            raise Unmet(f"error body: {body}")
        if not body.get("request_id"):
            raise Unmet(f"error body without request_id: {body}")

    def models(self, cell) -> None:
        ids = [model.id for model in self.client.models.list()]
        if cell["model"] not in ids:
            raise Unmet(f"{cell['model']} not among {ids}")

    def count_tokens(self, cell) -> None:
        request = self.request(self.opening(cell["prompt"], None))
        del request["max_tokens"]
        counted = self.client.messages.count_tokens(**request)
        if counted.input_tokens <= 0:
            raise Unmet(f"counted {counted.input_tokens}")
