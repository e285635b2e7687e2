// The Responses API through the official OpenAI SDK, stateless as Codex uses it.
import { Chat } from "./chat.mjs";
import { StreamFailed, Unmet, args } from "./replies.mjs";
import { hold } from "./schema.mjs";

/** A spent balance has the code by which Codex knows that asking again is no use; the types lack it. */
function typed(event) {
  if (event.type !== "response.failed" || event.response.error?.code !== "insufficient_quota") return event;
  const error = { ...event.response.error, code: "server_error" };
  return { ...event, response: { ...event.response, error } };
}

export class Responses extends Chat {
  request(history) {
    const { tools, thinking } = this.options;
    const declared = tools?.map(({ name, description, schema }) => ({
      type: "function",
      name,
      description,
      parameters: schema,
      strict: false,
    }));
    return {
      model: this.cell.model,
      input: history,
      instructions: "Be brief.",
      store: false,
      include: ["reasoning.encrypted_content"],
      ...(declared && { tools: declared }),
      ...(thinking && { reasoning: { effort: "high", summary: "auto" } }),
    };
  }

  opening(prompt, image) {
    if (!image) return [{ role: "user", content: prompt }];
    const picture = { type: "input_image", image_url: `data:image/png;base64,${image}`, detail: "auto" };
    return [{ role: "user", content: [{ type: "input_text", text: prompt }, picture] }];
  }

  async ask(history) {
    const answer = this.options.stream
      ? await this.streamedAnswer(history)
      : hold("openai/ResponsesAnswer", await this.client.responses.create(this.request(history)));
    const calls = answer.output
      .filter((item) => item.type === "function_call")
      .map((item) => ({ id: item.call_id, name: item.name, args: args(item.arguments) }));
    const { usage } = answer;
    if (usage.total_tokens !== usage.input_tokens + usage.output_tokens) {
      throw new Unmet(`totals do not add up: ${JSON.stringify(usage)}`);
    }
    return {
      text: outputText(answer),
      calls,
      stop: stopOf(answer, calls),
      inputTokens: usage.input_tokens,
      outputTokens: usage.output_tokens,
      echo: answer.output,
    };
  }

  /** Reads a stream to its terminal event; its pieces must add up to its final object. */
  async streamedAnswer(history) {
    let text = "";
    let final = null;
    let last = -1;
    const fragments = new Map();
    const stream = await this.client.responses.create({ ...this.request(history), stream: true });
    for await (const event of stream) {
      hold("openai/ResponsesEvent", event);
      if (final) throw new Unmet(`${event.type} after the terminal event`);
      if (event.sequence_number <= last) throw new Unmet(`sequence number ${event.sequence_number} after ${last}`);
      last = event.sequence_number;
      if (event.type === "response.output_text.delta") text += event.delta;
      if (event.type === "response.function_call_arguments.delta") {
        fragments.set(event.item_id, (fragments.get(event.item_id) ?? "") + event.delta);
      }
      if (event.type === "response.completed" || event.type === "response.incomplete") final = event.response;
      if (event.type === "response.failed" || event.type === "error") throw new Unmet(`failed: ${JSON.stringify(event)}`);
    }
    if (!final) throw new Unmet("the stream ended without a terminal event");
    if (text !== outputText(final)) throw new Unmet(`deltas ${text}, final text ${outputText(final)}`);
    for (const item of final.output) {
      if (item.type === "function_call" && fragments.get(item.id) !== item.arguments) {
        throw new Unmet(`fragments ${fragments.get(item.id)}, final arguments ${item.arguments}`);
      }
    }
    return final;
  }

  extended(history, reply, results) {
    const outputs = results.map(([id, output]) => ({ type: "function_call_output", call_id: id, output }));
    return [...history, ...reply.echo, ...outputs];
  }

  async structured(prompt, schema) {
    const answer = await this.client.responses.create({
      ...this.request(this.opening(prompt)),
      text: { format: { type: "json_schema", name: "verdict", schema, strict: true } },
    });
    return outputText(hold("openai/ResponsesAnswer", answer));
  }

  async *rawStream(prompt) {
    let terminal = false;
    const stream = await this.client.responses.create({ ...this.request(this.opening(prompt)), stream: true });
    for await (const event of stream) {
      hold("openai/ResponsesEvent", typed(event));
      if (event.type === "response.output_text.delta") yield event.delta;
      // This API tells of failure in an event; the SDK hands it over as one.
      if (event.type === "error") throw new StreamFailed(event.message);
      if (event.type === "response.failed") throw new StreamFailed(event.response.error.message);
      terminal ||= event.type === "response.completed" || event.type === "response.incomplete";
    }
    const silent = "the stream ended without a terminal event and without a word";
    if (!terminal) throw this.cell.direct ? new Error(silent) : new Unmet(silent);
  }
}

function outputText(answer) {
  return answer.output
    .filter((item) => item.type === "message")
    .flatMap((item) => item.content)
    .map((part) => part.text ?? "")
    .join("");
}

function stopOf(answer, calls) {
  if (answer.status === "completed") return calls.length > 0 ? "tools" : "end";
  if (answer.status === "incomplete" && answer.incomplete_details.reason === "max_output_tokens") return "length";
  throw new Unmet(`status ${answer.status}`);
}
