// Keys with money, as the SDKs' users meet them: what is charged, refused, repeated and cut off.
import { Unmet, same } from "./replies.mjs";

// Output tokens in each dialect's word; no account of a refused cell can pay for DEAR of them.
export const LIMITS = { chat: "max_completion_tokens", responses: "max_output_tokens", messages: "max_tokens" };
const DEAR = 4000;
const CHEAP = 200;

export function equal(what, got, wanted) {
  if (!same(got, wanted)) throw new Unmet(`${what}: ${JSON.stringify(got)}, wanted ${JSON.stringify(wanted)}`);
}

/** Decimal USD as whole micro-USD, without a float in between. */
function micro(usd) {
  const [whole, parts = ""] = usd.split(".");
  return Number(whole) * 1_000_000 + Number(parts.padEnd(6, "0"));
}

export const soon = () => new Promise((done) => setTimeout(done, 20));

/** One cell's key, seen from outside the SDK. */
export class Till {
  seen = [];

  constructor(adapter, cell) {
    this.adapter = adapter;
    this.cell = cell;
    this.client = adapter.client;
    this.retries(0);
  }

  /** The SDK as it is, with every request that it really sends counted. */
  retries(maxRetries, options = {}) {
    this.seen.length = 0;
    const counted = async (url, init) => {
      const retry = new Headers(init.headers).get("x-stainless-retry-count");
      const answer = await fetch(url, init);
      this.seen.push({ status: answer.status, headers: answer.headers, retry });
      return answer;
    };
    this.adapter.client = this.client.withOptions({ fetch: counted, maxRetries, ...options });
  }

  get place() {
    const { client } = this.adapter;
    return { messages: client.messages, responses: client.responses }[this.cell.dialect] ?? client.chat.completions;
  }

  get headers() {
    return this.seen.at(-1).headers;
  }

  request(limit = CHEAP) {
    const { adapter, cell } = this;
    return { ...adapter.request(adapter.opening(cell.prompt)), [LIMITS[cell.dialect]]: limit };
  }

  ask(limit = CHEAP, options = {}) {
    return this.place.create(this.request(limit), options);
  }

  /** Plain HTTP with the cell's key. */
  async plain(path, { root = this.cell.root, body } = {}) {
    const headers = { Authorization: `Bearer ${this.cell.api_key}`, "Content-Type": "application/json" };
    const answer = await fetch(root + path, body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers });
    const text = await answer.text();
    if (!answer.ok) throw new Unmet(`${path}: ${answer.status} ${text}`);
    return { headers: answer.headers, text };
  }

  async json(path) {
    return JSON.parse((await this.plain(path)).text);
  }

  /** What is known of an answer; of one that broke off a moment after it did. */
  async receipt(id) {
    for (const until = Date.now() + 5_000; ; await soon()) {
      try {
        return await this.json(`/v1/receipts/${id}`);
      } catch (caught) {
        if (Date.now() > until || !caught.message.includes(": 404 ")) throw caught;
      }
    }
  }

  /** The balance once nothing is held any more, or after a while. */
  async settled() {
    for (const until = Date.now() + 5_000; ; await soon()) {
      const found = (await this.json("/v1/balance")).micro;
      if (found.held === 0 || Date.now() > until) return found;
    }
  }

  /** Exactly this was spent, and nothing stays held. */
  async charged(wanted) {
    const found = await this.settled();
    equal("held", found.held, 0);
    equal("spent", found.spent, wanted);
    equal("available", found.available, found.deposited - wanted);
  }

  /** The SDK raises this and has asked once, though it may ask again. */
  async refused(name, status, code, limit) {
    this.retries(2);
    const started = Date.now();
    const caught = await failure(this.ask(limit));
    const { sdk } = this.adapter;
    if (!(caught instanceof sdk[name])) throw caught;
    equal("status", caught.status, status);
    equal("requests", this.seen.length, 1);
    equal("bardo_code", bodyOf(caught).bardo_code, code);
    if (Date.now() - started > 10_000) throw new Unmet("it waited before it raised");
    return caught;
  }

  fault(fault) {
    return this.plain("/_sandbox/faults", { root: this.cell.sandbox, body: { service: this.cell.service, times: 1, fault } });
  }
}

export const bodyOf = (caught) => caught.error?.error ?? caught.error;

export async function failure(promise) {
  try {
    await promise;
  } catch (caught) {
    return caught;
  }
  throw new Unmet("no exception, an answer");
}

async function receipt(till) {
  const { data, response } = await till.place.create(till.request()).withResponse();
  if (!data.id) throw new Unmet("the raw response parses to nothing");
  const header = (name) => response.headers.get(name);
  const cost = header("x-bardo-cost");
  const kept = await till.json(`/v1/receipts/${header("x-request-id")}`);
  equal("receipt's id", kept.request_id, header("x-bardo-request-id"));
  equal("receipt's charge", kept.cost.charge, cost);
  equal("receipt's spread", kept.cost.spread, header("x-bardo-spread"));
  equal("balance", (await till.json("/v1/balance")).available, header("x-bardo-balance"));
  const { total } = await till.json("/v1/usage");
  equal("usage", [total.charge, total.requests], [cost, 1]);
  if (!(micro(cost) > 0)) throw new Unmet(`the answer cost ${cost}`);
  await till.charged(micro(cost));
}

async function stream(till) {
  const { adapter, cell } = till;
  adapter.options = { ...adapter.options, stream: true };
  const reply = await adapter.ask(adapter.opening(cell.prompt));
  equal("text", reply.text, cell.expect.text);
  const kept = await till.json(`/v1/receipts/${till.headers.get("x-request-id")}`);
  equal("receipt", [kept.status, kept.stream], ["finished", true]);
  const path = cell.dialect === "chat" ? "/v1/chat/completions" : `/v1/${cell.dialect}`;
  const { headers, text } = await till.plain(path, { body: { ...till.request(), stream: true } });
  const comments = [...text.matchAll(/^: bardo (\{.*\})$/gm)];
  equal("closing comments", comments.length, 1);
  const told = JSON.parse(comments[0][1]);
  const again = await till.json(`/v1/receipts/${headers.get("x-request-id")}`);
  equal("the comment's cost", told.cost, again.cost.charge);
  equal("the comment's balance", told.balance, (await till.json("/v1/balance")).available);
  await till.charged(micro(kept.cost.charge) + micro(told.cost));
}

async function funds(till) {
  const caught = await till.refused("APIError", 402, "insufficient_funds", DEAR);
  equal("x-should-retry", caught.headers.get("x-should-retry"), "false");
  await till.charged(0);
  const fits = /`max_tokens` of at most (\d+) would fit/.exec(caught.message);
  if (!fits) throw new Unmet(`it does not say what would fit: ${caught.message}`);
  till.retries(0);
  await till.ask(Number(fits[1]));
  await till.charged(micro(till.headers.get("x-bardo-cost")));
}

async function empty(till) {
  await till.refused("APIError", 402, "insufficient_funds");
  await till.charged(0);
}

/** What the SDK raises once the limit is used up, and what the answers before cost. */
async function refusal(till) {
  const { adapter, cell } = till;
  till.retries(0);
  for (let asked = 0; asked < 2 * cell.rpm; asked += 1) {
    try {
      await till.ask();
    } catch (caught) {
      if (!(caught instanceof adapter.sdk.RateLimitError)) throw caught;
      equal("bardo_code", bodyOf(caught).bardo_code, "rate_limited");
      equal("x-ratelimit-limit-requests", caught.headers.get("x-ratelimit-limit-requests"), String(cell.rpm));
      const good = till.seen.slice(0, -1);
      return { caught, cost: good.reduce((sum, { headers }) => sum + micro(headers.get("x-bardo-cost")), 0) };
    }
  }
  throw new Unmet(`${2 * cell.rpm} requests went through`);
}

async function rateLimit(till) {
  let [spent, wait, waited] = [0, 0, 0];
  for (let round = 0; round < 5; round += 1) {
    const { caught, cost } = await refusal(till);
    spent += cost;
    wait = Number(caught.headers.get("retry-after"));
    till.retries(3);
    const started = Date.now();
    await till.ask();
    waited = (Date.now() - started) / 1000;
    if (till.seen[0].status === 429) break;
    // On a busy machine a request of the limit had come back meanwhile.
    spent += micro(till.headers.get("x-bardo-cost"));
  }
  // It asks at once, is told how long to wait, and is let in then.
  equal("requests", till.seen.map(({ status }) => status), [429, 200]);
  if (waited > wait + 5) throw new Unmet(`it waited ${waited} s for a retry-after of ${wait}`);
  equal("retry count", till.seen.at(-1).retry, "1");
  await till.charged(spent + micro(till.headers.get("x-bardo-cost")));
}

async function spendCap(till) {
  const caught = await till.refused("RateLimitError", 429, "budget_exceeded", DEAR);
  equal("x-should-retry", caught.headers.get("x-should-retry"), "false");
  await till.charged(0);
}

async function revoked(till) {
  await till.ask();
  const { spent } = (await till.json("/v1/balance")).micro;
  if (!spent) throw new Unmet("the answer before cost nothing");
  // The key was good a moment ago, and stays remembered for nobody.
  await till.plain(`/admin/keys/${till.cell.key_id}/revoke`, { root: till.cell.admin, body: {} });
  await till.refused("AuthenticationError", 401, "invalid_key");
}

async function readOnly(till) {
  await till.refused("PermissionDeniedError", 403, "key_scope");
  const ids = [];
  for await (const model of till.adapter.client.models.list()) ids.push(model.id);
  if (!ids.includes(till.cell.model)) throw new Unmet(`${till.cell.model} not among ${ids}`);
  await till.charged(0);
}

/** A stream without a limit gets the one that the balance pays for, and ends well there. */
async function cutOff(till) {
  let arrived = "";
  for await (const piece of till.adapter.rawStream(till.cell.prompt)) arrived += piece;
  const degraded = till.headers.get("x-bardo-degraded") ?? "";
  if (!degraded.includes("max_tokens")) throw new Unmet(`the limit is not named: ${degraded}`);
  const { text } = till.cell.expect;
  if (!arrived || !text.startsWith(arrived) || arrived === text) {
    throw new Unmet(`${arrived.length} of ${text.length} characters arrived: ${arrived.slice(0, 80)}`);
  }
  const kept = await till.receipt(till.headers.get("x-request-id"));
  const charge = micro(kept.cost.charge);
  if (!charge) throw new Unmet(`what was delivered cost nothing: ${JSON.stringify(kept)}`);
  await till.charged(charge);
}

async function idempotency(till) {
  const options = { headers: { "Idempotency-Key": `order-${till.cell.id}` } };
  const first = await till.ask(CHEAP, options);
  const cost = micro(till.headers.get("x-bardo-cost"));
  equal("the replay", await till.ask(CHEAP, options), first);
  equal("idempotent-replayed", till.headers.get("idempotent-replayed"), "true");
  await till.charged(cost);
  const other = await failure(till.ask(CHEAP + 1, options));
  if (!(other instanceof till.adapter.sdk.UnprocessableEntityError)) throw other;
  await till.charged(cost);
}

async function sdkRetry(till) {
  await till.fault({ kind: "status", status: 500 });
  till.retries(2);
  await till.ask();
  equal("requests", till.seen.map(({ status }) => status), [502, 200]);
  await till.charged(micro(till.headers.get("x-bardo-cost")));
}

async function sdkTimeout(till) {
  await till.fault({ kind: "delay_headers", ms: 60_000 });
  till.retries(2, { timeout: 1_500 });
  await till.ask();
  equal("retry count", till.seen.at(-1).retry, "1");
  // The provider had taken the try that the SDK gave up, and worked on it: that is paid for too.
  const cost = micro(till.headers.get("x-bardo-cost"));
  const { spent } = await till.settled();
  if (spent <= cost) throw new Unmet(`the abandoned try cost nothing: spent ${spent}, the answer ${cost}`);
  await till.charged(spent);
}

const SCENARIOS = {
  receipt,
  stream,
  funds,
  empty,
  "rate-limit": rateLimit,
  "spend-cap": spendCap,
  revoked,
  "read-only": readOnly,
  "cut-off": cutOff,
  idempotency,
  "sdk-retry": sdkRetry,
  "sdk-timeout": sdkTimeout,
};

export const money = (adapter, cell) => SCENARIOS[cell.scenario](new Till(adapter, cell));
