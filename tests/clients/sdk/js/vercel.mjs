// Runs the cells of a plan with the Vercel AI SDK and its providers for three dialects.
//
// The SDK parses every answer with schemas of its own and refuses what does not fit.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, Output, generateText, isStepCount, jsonSchema, streamText, tool } from "ai";
import { serve } from "./plan.mjs";
import { Unmet, checkLoop, same, toolResult } from "./replies.mjs";
import { check } from "./routing.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;

const PROVIDERS = {
  chat: ({ base_url: baseURL, api_key: apiKey, model }) => createOpenAI({ baseURL, apiKey }).chat(model),
  responses: ({ base_url: baseURL, api_key: apiKey, model }) => createOpenAI({ baseURL, apiKey })(model),
  messages: ({ base_url: root, api_key: authToken, model }) => createAnthropic({ baseURL: `${root}/v1`, authToken })(model),
  compatible: ({ base_url: baseURL, api_key: apiKey, model }) =>
    createOpenAICompatible({ name: "bardo", baseURL, apiKey, includeUsage: true, supportsStructuredOutputs: true })(model),
};

// How each provider is told to think. Only this SDK's own switch is used for each.
const THINKING = {
  chat: { openai: { reasoningEffort: "high", forceReasoning: true } },
  responses: { openai: { reasoningEffort: "high", reasoningSummary: "auto", forceReasoning: true } },
  messages: { anthropic: { thinking: { type: "adaptive", display: "summarized" } } },
  compatible: { bardo: { reasoningEffort: "high" } },
};

function tools(declared) {
  let count = 0;
  const entries = (declared ?? []).map(({ name, description, schema }) => {
    const execute = () => toolResult((count += 1), name);
    return [name, tool({ description, inputSchema: jsonSchema(schema), execute })];
  });
  return Object.fromEntries(entries);
}

function request(cell) {
  const { dialect, options, prompt } = cell;
  const image = options.image && { type: "file", mediaType: "image/png", data: options.image };
  const content = image ? [{ type: "text", text: prompt }, image] : prompt;
  const provider = options.thinking ? structuredClone(THINKING[dialect]) : {};
  // By default the SDK sends back references to items. With this it sends the items: streams do so here, and
  // requests whose thinking must be seen to go back.
  const sendsItems = options.stream || options.thinking;
  if (dialect === "responses" && sendsItems) provider.openai = { ...provider.openai, store: false };
  return {
    model: PROVIDERS[dialect](cell),
    messages: [{ role: "user", content }],
    maxRetries: 0,
    stopWhen: isStepCount(8),
    providerOptions: provider,
    ...(options.tools && { tools: tools(options.tools) }),
  };
}

async function loop(cell) {
  const { options } = cell;
  const result = options.stream ? await streamed(request(cell)) : await generateText(request(cell));
  const steps = await result.steps;
  const rounds = steps
    .filter((step) => step.toolCalls.length > 0)
    .map((step) => step.toolCalls.map(({ toolCallId, toolName, input }) => ({ id: toolCallId, name: toolName, args: input })));
  const last = steps.at(-1);
  const stops = { stop: "end", length: "length", "tool-calls": "tools" };
  const reply = {
    text: last.text,
    stop: stops[last.finishReason],
    inputTokens: last.usage.inputTokens,
    outputTokens: last.usage.outputTokens,
  };
  checkLoop(cell, reply, rounds, steps.length);
}

/** Reads a stream to its end; an error part is the SDK's way to raise in mid-stream. */
async function streamed(body) {
  const result = streamText({ ...body, onError: () => {} });
  let text = "";
  for await (const part of result.stream ?? result.fullStream) {
    if (part.type === "error") throw part.error;
    if (part.type === "text-delta") text += part.text;
  }
  const whole = (await result.steps).map((step) => step.text).join("");
  if (text !== whole) throw new Unmet(`deltas ${text}, final text ${whole}`);
  return result;
}

async function structured(cell) {
  const output = Output.object({ schema: jsonSchema(cell.options.schema), name: "verdict" });
  const result = await generateText({ ...request(cell), output });
  if (!same(result.output, cell.options.value)) throw new Unmet(`parsed ${JSON.stringify(result.output)}`);
}

async function error(cell) {
  try {
    if (cell.options.stream) await streamed(request(cell));
    else await generateText(request(cell));
  } catch (caught) {
    if (!APICallError.isInstance(caught)) throw caught;
    const { statusCode, responseHeaders, message } = caught;
    if (!cell.options.status.includes(statusCode)) throw new Unmet(`status ${statusCode}: ${message}`);
    const id = responseHeaders?.[cell.dialect === "messages" ? "request-id" : "x-request-id"];
    if (cell.options.request_id && !id) throw new Unmet("no request id on the error");
    // Where the body is not in the provider's shape, the SDK falls back on the bare status text.
    if (caught.data?.error?.message === undefined) throw new Unmet(`the body was not understood: ${caught.responseBody}`);
    if (cell.options.retry_after && !responseHeaders["retry-after"]) throw new Unmet("429 without retry-after");
    return;
  }
  throw new Unmet("no exception, an answer");
}

async function midstream(cell) {
  let text = "";
  let failure = null;
  const result = streamText({ ...request(cell), onError: () => {} });
  try {
    for await (const part of result.stream ?? result.fullStream) {
      if (part.type === "text-delta") text += part.text;
      if (part.type === "error") failure ??= part.error;
    }
  } catch (caught) {
    failure = caught;
  }
  if (failure === null) throw new Unmet(`the stream ended as if complete, after ${text.length} characters`);
  if (!text.startsWith("Sentence 1 ")) throw new Unmet(`no text before the failure: ${text.slice(0, 80)} (${failure})`);
}

/** A request of the stage `routing`, with hints where this SDK has room for them: its answer and its headers. */
async function asked(cell, { stream, hints, headers }) {
  const body = request(cell);
  // The provider for compatible services passes members on that it does not know; the others do not.
  const inBody = hints && cell.dialect === "compatible";
  if (inBody) body.providerOptions = { bardo: { bardo: hints } };
  const inHeaders = Object.entries(hints && !inBody ? hints : {}).map(([name, value]) => [
    `X-Bardo-${name.replaceAll("_", "-")}`,
    String(value),
  ]);
  body.headers = { ...headers, ...Object.fromEntries(inHeaders) };
  const result = stream ? await streamed(body) : await generateText(body);
  const { headers: answered } = await result.response;
  return { text: await result.text, header: (name) => answered[name] };
}

/** The SDK's exception for a 400, in common terms. */
function refusal(caught) {
  if (!APICallError.isInstance(caught)) throw caught;
  if (caught.isRetryable) throw new Unmet("it would ask again");
  return { status: caught.statusCode, message: caught.message, body: JSON.parse(caught.responseBody).error };
}

const routing = (cell) => check(cell, (more) => asked(cell, more), refusal);

const RUNNERS = { loop, structured, error, midstream, routing };

// The promises of a stream that failed are rejected one by one; its failure was seen above.
process.on("unhandledRejection", () => {});
await serve((cell) => RUNNERS[cell.kind](cell));
