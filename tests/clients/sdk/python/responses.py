"""The Responses API through the official OpenAI SDK, stateless as Codex uses it."""

from chat import Chat, Verdict
from replies import Call, Reply, Unmet, arguments


class Responses(Chat):
    def request(self, history) -> dict:
        body = {
            "model": self.cell["model"],
            "input": history,
            "instructions": "Be brief.",
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }
        if self.options.get("tools"):
            body["tools"] = [
                {
                    "type": "function",
                    "name": t["name"],
                    "description": t["description"],
                    "parameters": t["schema"],
                    "strict": False,
                }
                for t in self.options["tools"]
            ]
        if self.options.get("thinking"):
            body["reasoning"] = {"effort": "high", "summary": "auto"}
        return body

    def opening(self, prompt: str, image) -> list:
        if image is None:
            return [{"role": "user", "content": prompt}]
        picture = {"type": "input_image", "image_url": f"data:image/png;base64,{image}", "detail": "auto"}
        return [{"role": "user", "content": [{"type": "input_text", "text": prompt}, picture]}]

    def ask(self, history) -> Reply:
        if self.options.get("stream"):
            answer = self.streamed_answer(history)
        else:
            answer = self.client.responses.create(**self.request(history))
        return self.reply(answer)

    def reply(self, answer) -> Reply:
        calls = [
            Call(item.call_id, item.name, arguments(item.arguments))
            for item in answer.output
            if item.type == "function_call"
        ]
        if answer.status == "incomplete":
            if answer.incomplete_details.reason != "max_output_tokens":
                raise Unmet(f"incomplete because of {answer.incomplete_details.reason}")
            stop = "length"
        elif answer.status == "completed":
            stop = "tools" if calls else "end"
        else:
            raise Unmet(f"status {answer.status}")
        usage = answer.usage
        if usage.total_tokens != usage.input_tokens + usage.output_tokens:
            raise Unmet(f"totals do not add up: {usage}")
        return Reply(answer.output_text, calls, stop, usage.input_tokens, usage.output_tokens, list(answer.output))

    def streamed_answer(self, history):
        """Reads a stream to its terminal event; its pieces must add up to its final object."""
        text, fragments, final, last = "", {}, None, -1
        items_done: list = []
        for event in self.client.responses.create(**self.request(history), stream=True):
            if final is not None:
                raise Unmet(f"{event.type} after the terminal event")
            if event.sequence_number <= last:
                raise Unmet(f"sequence number {event.sequence_number} after {last}")
            last = event.sequence_number
            if event.type == "response.output_text.delta":
                text += event.delta
            elif event.type == "response.function_call_arguments.delta":
                fragments[event.item_id] = fragments.get(event.item_id, "") + event.delta
            elif event.type == "response.output_item.done":
                items_done.append(event.item)
            elif event.type in ("response.completed", "response.incomplete"):
                final = event.response
            elif event.type in ("response.failed", "error"):
                raise Unmet(f"the stream failed: {event}")
        if final is None:
            raise Unmet("the stream ended without a terminal event")
        if text != final.output_text:
            raise Unmet(f"deltas {text!r}, final text {final.output_text!r}")
        for item in final.output:
            if item.type == "function_call" and fragments.get(item.id) != item.arguments:
                raise Unmet(f"fragments {fragments.get(item.id)!r}, final arguments {item.arguments!r}")
        if [item.type for item in items_done] != [item.type for item in final.output]:
            raise Unmet(f"items done {[i.type for i in items_done]}, final {[i.type for i in final.output]}")
        return final

    def extended(self, history, reply: Reply, results) -> list:
        outputs = [{"type": "function_call_output", "call_id": id, "output": text} for id, text in results]
        return [*history, *reply.echo, *outputs]

    def structured(self, prompt: str):
        return self.client.responses.parse(
            **self.request(self.opening(prompt, None)), text_format=Verdict
        ).output_parsed.model_dump()

    def raw_stream(self, prompt: str):
        terminal = False
        for event in self.client.responses.create(**self.request(self.opening(prompt, None)), stream=True):
            if event.type == "response.output_text.delta":
                yield event.delta
            elif event.type in ("response.failed", "error"):
                # This API tells of failure in an event; the SDK hands it over as one.
                error = event.response.error if event.type == "response.failed" else event
                raise StreamFailed(error.message)
            terminal = terminal or event.type in ("response.completed", "response.incomplete")
        if not terminal and not self.cell["direct"]:
            raise Unmet("the stream ended without a terminal event and without a word")
        if not terminal:
            raise StreamFailed("no terminal event")

    def failures(self):
        return (StreamFailed, *super().failures())


class StreamFailed(Exception):
    """The stream itself said that it failed."""
