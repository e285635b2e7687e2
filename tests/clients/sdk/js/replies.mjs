// What the dialects' answers have in common, and what a cell expects of them.

/** The client got an answer, and it is not the one that was scripted. */
export class Unmet extends Error {}

/** The stream itself said that it failed. */
export class StreamFailed extends Error {}

/** A call's arguments as the client's tool would read them. */
export function args(raw) {
  try {
    return JSON.parse(raw);
  } catch {
    throw new Unmet(`arguments are not JSON: ${JSON.stringify(raw)}`);
  }
}

/** The same value whatever the order of the keys: JSON objects have none. */
export function canonical(value) {
  if (Array.isArray(value)) return value.map(canonical);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, canonical(value[key])]));
}

export const same = (a, b) => JSON.stringify(canonical(a)) === JSON.stringify(canonical(b));

/** What the client's tool answers; the harness looks for it in the provider's journal. */
export const toolResult = (number, name) => `result ${number} of ${name}: "Ærø" 東京\n{"ok": true}`;

/** The whole exchange against the script. */
export function checkLoop(cell, reply, rounds, turns) {
  const { expect, options } = cell;
  const got = rounds.map((calls) => calls.map(({ name, args }) => ({ name, args })));
  if (!same(got, expect.calls ?? [])) throw new Unmet(`calls ${JSON.stringify(got)}, wanted ${JSON.stringify(expect.calls)}`);
  const ids = rounds.flat().map((call) => call.id);
  if (new Set(ids).size !== ids.length || ids.some((id) => !id)) throw new Unmet(`call ids are not distinct: ${ids}`);
  if (expect.text !== undefined && reply.text !== expect.text) {
    throw new Unmet(`text ${JSON.stringify(reply.text)}, wanted ${JSON.stringify(expect.text)}`);
  }
  for (const part of expect.contains ?? []) {
    if (!reply.text.includes(part)) throw new Unmet(`${part} not in ${reply.text}`);
  }
  if (turns !== expect.turns) throw new Unmet(`${turns} turns, wanted ${expect.turns}`);
  const stop = options.stop ?? "end";
  if (reply.stop !== stop) throw new Unmet(`stopped with ${reply.stop}, wanted ${stop}`);
  if (!(reply.inputTokens > 0 && reply.outputTokens > 0)) {
    throw new Unmet(`usage ${reply.inputTokens} in, ${reply.outputTokens} out`);
  }
}

const CLASSES = {
  400: "BadRequestError",
  401: "AuthenticationError",
  403: "PermissionDeniedError",
  404: "NotFoundError",
  422: "UnprocessableEntityError",
  429: "RateLimitError",
};

/** Status, class, request id and hints, the same for both SDKs. */
export function checkStatus(sdk, caught, options, requestIdHeader) {
  if (!options.status.includes(caught.status)) {
    throw new Unmet(`status ${caught.status}, wanted one of ${options.status}: ${caught.message}`);
  }
  const wanted = sdk[CLASSES[caught.status]] ?? (caught.status >= 500 ? sdk.InternalServerError : sdk.APIError);
  // Some majors have classes of their own for 503, 504 and 529, beside the one for 500.
  const right = caught.status >= 500 ? caught.constructor !== sdk.APIError : caught instanceof wanted;
  if (!right) throw new Unmet(`${caught.constructor.name} for ${caught.status}, wanted ${wanted.name}`);
  if (options.request_id && !caught.headers?.get(requestIdHeader)) throw new Unmet(`no ${requestIdHeader} on the error`);
  if (options.secret && `${caught.message} ${JSON.stringify(caught.error)}`.includes(options.secret)) {
    throw new Unmet("the error shows the provider's key");
  }
  if (options.retry_after && !caught.headers.get("retry-after")) throw new Unmet("429 without retry-after");
}
