// Chat Completions through the official OpenAI SDK.
import OpenAI from "openai";
import { Unmet, args, checkStatus } from "./replies.mjs";
import { hold } from "./schema.mjs";

const STOPS = { stop: "end", tool_calls: "tools", length: "length" };

export class Chat {
  sdk = OpenAI;

  constructor(cell) {
    this.cell = cell;
    this.options = cell.options;
    this.client = new OpenAI({ baseURL: cell.base_url, apiKey: cell.api_key, maxRetries: 0, timeout: 30_000 });
  }

  request(history) {
    const { tools, thinking } = this.options;
    const declared = tools?.map(({ name, description, schema }) => ({
      type: "function",
      function: { name, description, parameters: schema },
    }));
    return {
      model: this.cell.model,
      messages: history,
      ...(declared && { tools: declared }),
      ...(thinking && { reasoning_effort: "high" }),
    };
  }

  opening(prompt, image) {
    if (!image) {
      return [
        { role: "system", content: "Be brief." },
        { role: "user", content: prompt },
      ];
    }
    const picture = { type: "image_url", image_url: { url: `data:image/png;base64,${image}` } };
    return [{ role: "user", content: [{ type: "text", text: prompt }, picture] }];
  }

  async ask(history) {
    if (this.options.stream) return this.streamed(history);
    const answer = hold("openai/ChatAnswer", await this.client.chat.completions.create(this.request(history)));
    const { message, finish_reason: finish } = answer.choices[0];
    const calls = (message.tool_calls ?? []).map((call) => ({
      id: call.id,
      name: call.function.name,
      args: args(call.function.arguments),
    }));
    const { content, role, tool_calls } = message;
    const echo = this.options.echo === "plain" ? { role, content, tool_calls } : message;
    return this.reply(content ?? "", calls, finish, answer.usage, echo);
  }

  reply(text, calls, finish, usage, echo) {
    if ((finish === "tool_calls") !== calls.length > 0) throw new Unmet(`finish_reason ${finish} with ${calls.length} calls`);
    if (usage.total_tokens !== usage.prompt_tokens + usage.completion_tokens) {
      throw new Unmet(`totals do not add up: ${JSON.stringify(usage)}`);
    }
    return {
      text,
      calls,
      stop: STOPS[finish],
      inputTokens: usage.prompt_tokens,
      outputTokens: usage.completion_tokens,
      echo: [echo],
    };
  }

  /** Reads a stream to its end, holding it to the grammar of the dialect. */
  async streamed(history) {
    const stream = await this.client.chat.completions.create({
      ...this.request(history),
      stream: true,
      stream_options: { include_usage: true },
    });
    const merged = new Merged(this.options);
    for await (const chunk of stream) merged.add(hold("openai/ChatChunk", chunk));
    if (merged.ids.size !== 1 || merged.finish === null || merged.usage === null) {
      throw new Unmet(`ids ${merged.ids.size}, finish ${merged.finish}, usage ${merged.usage}`);
    }
    const calls = merged.calls.map((call) => ({
      id: call.id,
      name: call.function.name,
      args: args(call.function.arguments),
    }));
    return this.reply(merged.text, calls, merged.finish, merged.usage, merged.message());
  }

  extended(history, reply, results) {
    return [...history, ...reply.echo, ...results.map(([id, content]) => ({ role: "tool", tool_call_id: id, content }))];
  }

  async structured(prompt, schema) {
    const answer = await this.client.chat.completions.create({
      ...this.request(this.opening(prompt)),
      response_format: { type: "json_schema", json_schema: { name: "verdict", schema, strict: true } },
    });
    return hold("openai/ChatAnswer", answer).choices[0].message.content;
  }

  async *rawStream(prompt) {
    const stream = await this.client.chat.completions.create({ ...this.request(this.opening(prompt)), stream: true });
    for await (const chunk of stream) {
      for (const choice of hold("openai/ChatChunk", chunk).choices) yield choice.delta.content ?? "";
    }
  }

  checkError(caught, options) {
    checkStatus(OpenAI, caught, options, "x-request-id");
    const missing = ["message", "type", "param", "code"].filter((key) => !(key in caught.error));
    if (missing.length > 0 || !caught.error.message || !caught.error.type) {
      throw new Unmet(`error body lacks ${missing}: ${JSON.stringify(caught.error)}`);
    }
  }

  async models(cell) {
    const ids = [];
    for await (const model of this.client.models.list()) ids.push(hold("openai/Model", model).id);
    if (!ids.includes(cell.model)) throw new Unmet(`${cell.model} not among ${ids}`);
  }

  async embeddings(cell) {
    // The SDK asks for base64 and decodes it, unless it is told which form to ask for.
    for (const extra of [{}, { encoding_format: "float" }]) {
      const input = [`one ${cell.prompt}`, "two"];
      const answer = await this.client.embeddings.create({ model: cell.model, input, ...extra });
      hold("openai/Embeddings", answer);
      const sizes = new Set(answer.data.map((row) => row.embedding.length));
      if (answer.data.length !== 2 || sizes.size !== 1) throw new Unmet(`sizes ${[...sizes]}`);
    }
  }
}

/** A chat stream put together again, as a careful client does it. */
class Merged {
  ids = new Set();
  text = "";
  calls = [];
  finish = null;
  usage = null;
  extras = {};

  constructor(options) {
    this.usageOnFinish = options.usage_on_finish;
  }

  add(chunk) {
    this.ids.add(`${chunk.id} ${chunk.created}`);
    if (this.usage) throw new Unmet("a chunk after the usage chunk");
    if (chunk.choices.length === 0) {
      this.usage = chunk.usage;
      return;
    }
    const [{ delta, finish_reason: finish }] = chunk.choices;
    if (chunk.usage) {
      if (!this.usageOnFinish || finish === null) throw new Unmet("usage on a chunk with choices");
      this.usage = chunk.usage;
    }
    if (this.finish !== null) throw new Unmet("a choice after finish_reason");
    this.text += delta.content ?? "";
    for (const { index, ...fragment } of delta.tool_calls ?? []) this.addFragment(index, fragment);
    if (delta.reasoning_content) {
      this.extras.reasoning_content = (this.extras.reasoning_content ?? "") + delta.reasoning_content;
    }
    for (const detail of delta.reasoning_details ?? []) this.addDetail(detail);
    this.finish = finish;
  }

  addFragment(index, fragment) {
    const call = this.calls[index];
    if (!call) {
      if (index !== this.calls.length || !fragment.id || !fragment.function?.name) {
        throw new Unmet(`first fragment of a call: ${JSON.stringify({ index, ...fragment })}`);
      }
      this.calls.push({ ...fragment, type: "function", function: { arguments: "", ...fragment.function } });
      return;
    }
    if (fragment.id && fragment.id !== call.id) throw new Unmet(`the id of call ${index} changed`);
    call.function.arguments += fragment.function?.arguments ?? "";
    if (fragment.extra_content) call.extra_content = fragment.extra_content;
  }

  addDetail(detail) {
    const rows = (this.extras.reasoning_details ??= new Map());
    const row = rows.get(detail.index ?? 0) ?? {};
    rows.set(detail.index ?? 0, row);
    for (const [key, value] of Object.entries(detail)) {
      if ((key === "text" || key === "summary") && typeof row[key] === "string") row[key] += value ?? "";
      else row[key] = value ?? row[key];
    }
  }

  message() {
    const { reasoning_details: details, ...extras } = this.extras;
    return {
      role: "assistant",
      content: this.text || null,
      ...extras,
      ...(details && { reasoning_details: [...details.values()] }),
      ...(this.calls.length > 0 && { tool_calls: this.calls }),
    };
  }
}
