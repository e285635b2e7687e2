// Anthropic Messages through the official SDK.
import Anthropic from "@anthropic-ai/sdk";
import { Unmet, checkStatus } from "./replies.mjs";
import { hold } from "./schema.mjs";

const STOPS = { end_turn: "end", tool_use: "tools", max_tokens: "length" };

export class Messages {
  sdk = Anthropic;

  constructor(cell) {
    this.cell = cell;
    this.options = cell.options;
    this.client = new Anthropic({ baseURL: cell.base_url, apiKey: cell.api_key, maxRetries: 0, timeout: 30_000 });
  }

  request(history) {
    const { tools, thinking } = this.options;
    const declared = tools?.map(({ name, description, schema }) => ({ name, description, input_schema: schema }));
    return {
      model: this.cell.model,
      max_tokens: 4000,
      system: "Be brief.",
      messages: history,
      ...(declared && { tools: declared }),
      ...(thinking && { thinking: { type: "adaptive", display: "summarized" } }),
    };
  }

  opening(prompt, image) {
    if (!image) return [{ role: "user", content: prompt }];
    const source = { type: "base64", media_type: "image/png", data: image };
    const picture = { type: "image", source };
    return [{ role: "user", content: [picture, { type: "text", text: prompt }] }];
  }

  async ask(history) {
    const answer = this.options.stream
      ? await this.streamed(history)
      : await this.client.messages.create(this.request(history));
    hold("anthropic/Answer", answer);
    const uses = answer.content.filter((block) => block.type === "tool_use");
    if ((answer.stop_reason === "tool_use") !== uses.length > 0) {
      throw new Unmet(`stop_reason ${answer.stop_reason} with ${uses.length} calls`);
    }
    for (const block of answer.content) {
      if (block.type === "thinking" && !block.signature) throw new Unmet("a thinking block without a signature");
      if (block.type === "text" && !block.text) throw new Unmet("an empty text block");
    }
    const { usage } = answer;
    return {
      text: answer.content.map((block) => (block.type === "text" ? block.text : "")).join(""),
      calls: uses.map((block) => ({ id: block.id, name: block.name, args: block.input })),
      stop: STOPS[answer.stop_reason],
      inputTokens: usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0),
      outputTokens: usage.output_tokens,
      echo: [{ role: "assistant", content: answer.content }],
    };
  }

  /** The SDK's own accumulator, while the raw events are held to the grammar. */
  async streamed(history) {
    let open = null;
    let next = 0;
    const frames = [];
    const stream = this.client.messages.stream(this.request(history));
    for await (const event of stream) {
      hold("anthropic/Event", event);
      if (event.type === "content_block_start") {
        if (open !== null || event.index !== next) throw new Unmet(`block ${event.index} started while ${open} is open`);
        open = event.index;
        next += 1;
      } else if (event.type === "content_block_delta" && event.index !== open) {
        throw new Unmet(`a delta for block ${event.index} while ${open} is open`);
      } else if (event.type === "content_block_stop") {
        if (event.index !== open) throw new Unmet(`block ${event.index} stopped while ${open} is open`);
        open = null;
      }
      if (event.type.startsWith("message_")) frames.push(event.type);
    }
    if (frames[0] !== "message_start" || frames.at(-1) !== "message_stop" || !frames.includes("message_delta")) {
      throw new Unmet(`events ${frames}`);
    }
    return stream.finalMessage();
  }

  extended(history, reply, results) {
    const content = results.map(([id, text]) => ({ type: "tool_result", tool_use_id: id, content: text }));
    return [...history, ...reply.echo, { role: "user", content }];
  }

  async structured(prompt, schema) {
    const answer = await this.client.messages.create({
      ...this.request(this.opening(prompt)),
      output_config: { format: { type: "json_schema", schema } },
    });
    return hold("anthropic/Answer", answer).content.find((block) => block.type === "text").text;
  }

  async *rawStream(prompt) {
    let stopped = false;
    const stream = await this.client.messages.create({ ...this.request(this.opening(prompt)), stream: true });
    for await (const event of stream) {
      hold("anthropic/Event", event);
      if (event.type === "content_block_delta" && event.delta.type === "text_delta") yield event.delta.text;
      stopped ||= event.type === "message_stop";
    }
    if (!stopped) throw new Unmet("the stream ended without message_stop and without an exception");
  }

  checkError(caught, options) {
    checkStatus(Anthropic, caught, options, "request-id");
    const body = caught.error ?? {};
    if (body.type !== "error" || !body.error?.type || !body.error?.message || !body.request_id) {
      throw new Unmet(`error body: ${JSON.stringify(body)}`);
    }
  }

  async models(cell) {
    const ids = [];
    for await (const model of this.client.models.list()) ids.push(hold("anthropic/Model", model).id);
    if (!ids.includes(cell.model)) throw new Unmet(`${cell.model} not among ${ids}`);
  }

  async countTokens(cell) {
    const { max_tokens: _unused, ...request } = this.request(this.opening(cell.prompt));
    const counted = hold("anthropic/TokensCount", await this.client.messages.countTokens(request));
    if (!(counted.input_tokens > 0)) throw new Unmet(`counted ${counted.input_tokens}`);
  }
}
