// Runs the cells of a plan with the JavaScript SDKs that lie beside it.
import { Chat } from "./chat.mjs";
import { hits } from "./hits.mjs";
import { Messages } from "./messages.mjs";
import { money } from "./money.mjs";
import { serve } from "./plan.mjs";
import { StreamFailed, Unmet, checkLoop, same, toolResult } from "./replies.mjs";
import { Responses } from "./responses.mjs";
import { routing } from "./routing.mjs";

const ADAPTERS = { chat: Chat, responses: Responses, messages: Messages };
const MOST_TURNS = 8;

/** The loop every agent runs: ask, run the tools, send the results, until there are no calls. */
async function loop(adapter, cell) {
  let history = adapter.opening(cell.prompt, cell.options.image);
  const rounds = [];
  let count = 0;
  for (let turn = 1; turn <= MOST_TURNS; turn += 1) {
    const reply = await adapter.ask(history);
    if (reply.calls.length === 0) return checkLoop(cell, reply, rounds, turn);
    rounds.push(reply.calls);
    const results = reply.calls.map((call) => [call.id, toolResult((count += 1), call.name)]);
    history = adapter.extended(history, reply, results);
  }
  throw new Unmet(`still calling tools after ${MOST_TURNS} turns`);
}

async function structured(adapter, cell) {
  const value = JSON.parse(await adapter.structured(cell.prompt, cell.options.schema));
  if (!same(value, cell.options.value)) throw new Unmet(`parsed ${JSON.stringify(value)}`);
}

/** The SDK must raise its own exception for the status, with the parts a program reads. */
async function error(adapter, cell) {
  let reply;
  try {
    reply = await adapter.ask(adapter.opening(cell.prompt, cell.options.image));
  } catch (caught) {
    if (caught instanceof adapter.sdk.APIError && caught.status !== undefined) return adapter.checkError(caught, cell.options);
    throw caught;
  }
  throw new Unmet(`no exception, an answer: ${reply.text.slice(0, 200)}`);
}

/** Some text arrives, then the failure shows; the end must never look clean. */
async function midstream(adapter, cell) {
  let text = "";
  let failure = null;
  try {
    for await (const piece of adapter.rawStream(cell.prompt)) text += piece;
  } catch (caught) {
    if (caught instanceof Unmet) throw caught;
    failure = caught;
  }
  if (failure === null) throw new Unmet(`the stream ended as if complete, after ${text.length} characters`);
  if (!String(failure.message ?? "").trim()) throw new Unmet("the exception says nothing");
  // Only an event of the stream itself tells; a broken connection is what it must not come down to.
  const told = failure instanceof StreamFailed || failure instanceof adapter.sdk.APIError;
  const broke = failure instanceof adapter.sdk.APIConnectionError;
  if (!cell.direct && (!told || broke)) throw new Unmet(`the connection broke, and the stream said nothing of it: ${failure}`);
  if (!text.startsWith("Sentence 1 ")) throw new Unmet(`no text before the failure: ${text.slice(0, 80)} (${failure})`);
}

const RUNNERS = {
  loop,
  hit: hits,
  structured,
  error,
  midstream,
  models: (adapter, cell) => adapter.models(cell),
  count_tokens: (adapter, cell) => adapter.countTokens(cell),
  embeddings: (adapter, cell) => adapter.embeddings(cell),
  money,
  routing,
};

await serve((cell) => RUNNERS[cell.kind](new ADAPTERS[cell.dialect](cell), cell));
