// What the paying programs share: requests and answers of three dialects over plain HTTP, and a
// JSON line for each cell: `{"id", "status", "text", "payment", "seconds"}`, or an `error`.

const MOST_TOKENS = 400;
export const PATHS = { chat: "/v1/chat/completions", messages: "/v1/messages", responses: "/v1/responses" };

export function body({ dialect, model, prompt, stream }) {
  if (dialect === "responses") return { model, input: prompt, max_output_tokens: MOST_TOKENS, stream };
  const limit = dialect === "chat" ? "max_completion_tokens" : "max_tokens";
  return { model, messages: [{ role: "user", content: prompt }], [limit]: MOST_TOKENS, stream };
}

export const HEADERS = { "content-type": "application/json", "anthropic-version": "2023-06-01" };

const WHOLE = {
  chat: (answer) => answer.choices[0].message.content,
  messages: (answer) => answer.content.map((part) => part.text ?? "").join(""),
  responses: (answer) => answer.output.flatMap((item) => item.content ?? []).map((part) => part.text ?? "").join(""),
};
const PIECE = {
  chat: (event) => event.choices?.[0]?.delta?.content ?? "",
  messages: (event) => (event.type === "content_block_delta" ? (event.delta.text ?? "") : ""),
  responses: (event) => (event.type === "response.output_text.delta" ? event.delta : ""),
};

/** The text of an answer, whole or as server-sent events. */
export function textOf({ dialect, stream }, answered) {
  if (!stream) return WHOLE[dialect](JSON.parse(answered));
  const data = answered.split("\n").filter((line) => line.startsWith("data: ")).map((line) => line.slice(6));
  return data.filter((line) => line !== "[DONE]").map((line) => PIECE[dialect](JSON.parse(line))).join("");
}

/** Asks over a `fetch` that pays. */
export async function byFetch(pay, cell) {
  const init = { method: "POST", headers: HEADERS, body: JSON.stringify(body(cell)) };
  const answer = await pay(cell.root + PATHS[cell.dialect], init);
  const answered = await answer.text();
  if (answer.status !== 200) throw new Error(`status ${answer.status}: ${answered.slice(0, 800)}`);
  return { status: answer.status, payment: answer.headers.get("x-bardo-payment"), text: textOf(cell, answered) };
}

export async function serve(run) {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  for (const cell of JSON.parse(Buffer.concat(chunks))) {
    const started = performance.now();
    const told = await run(cell).catch((caught) => ({ error: String(caught?.stack ?? caught).slice(0, 2500) }));
    const line = JSON.stringify({ id: cell.id, seconds: (performance.now() - started) / 1000, ...told });
    await new Promise((done) => process.stdout.write(`${line}\n`, done));
  }
  // Idle keep-alive sockets would hold the process open.
  process.exit(0);
}
