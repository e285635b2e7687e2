// Traffic that moves between backends, and hints, as the SDKs' users meet them. What is asked and
// what it has to come to is the same for every SDK; how it asks, and what it raises, is its own.
import { LIMITS, Till, bodyOf, equal, soon } from "./money.mjs";
import { Unmet } from "./replies.mjs";

const FIRST = "blockrun";
const SECOND = "openrouter";
const GOLEM = { golem_id: "golem-7", tick: 41, vitality: 0.5 };
// The first try of a whole answer and of a stream goes wrong so, before any content.
const FAULTS = [
  [false, { kind: "status", status: 503 }],
  [true, { kind: "error_event_after", events: 0 }],
];
const PATIENCE = 20_000;

/** One cell's key, and what its receipts say of who was asked. */
class Route {
  /** `ask({ stream, hints, headers })` answers `{ text, header }`; `refusal` reads an exception. */
  constructor(cell, ask, refusal) {
    this.cell = cell;
    this.ask = ask;
    this.refusal = refusal;
    // Only what it does over plain HTTP.
    this.till = Object.assign(Object.create(Till.prototype), { cell });
  }

  async receipt(more = {}) {
    const { text, header } = await this.ask(more);
    const kept = await this.till.receipt(header("x-request-id") ?? header("request-id"));
    equal("the header", header("x-bardo-provider"), kept.attempts.at(-1).provider);
    return { text, kept };
  }

  /** Asks, wants the whole text, and tells which backends were asked for it. */
  async tried(more = {}) {
    const { text, kept } = await this.receipt(more);
    equal("text", text, this.cell.expect.text);
    return kept.attempts.map(({ provider }) => provider);
  }

  async until(wanted) {
    for (const started = Date.now(); ; await soon()) {
      const tried = await this.tried();
      if (tried.join() === wanted.join()) return;
      if (Date.now() - started > PATIENCE) throw new Unmet(`still ${tried} after ${PATIENCE} ms, wanted ${wanted}`);
    }
  }

  hints(more = {}) {
    return { subsystem: this.cell.subsystem, ...more };
  }

  control(path) {
    return this.till.plain(path, { root: this.cell.control, body: {} });
  }

  async refused(hints) {
    try {
      await this.ask({ hints });
    } catch (caught) {
      const refusal = this.refusal(caught);
      equal("status", refusal.status, 400);
      return refusal;
    }
    throw new Unmet("no exception, an answer");
  }
}

async function moves(route) {
  const hints = route.hints();
  for (const [stream, fault] of FAULTS) {
    equal("well", await route.tried({ stream, hints }), [FIRST]);
    await route.till.fault(fault);
    equal("moved", await route.tried({ stream, hints }), [FIRST, SECOND]);
  }
  equal("well again", await route.tried({ hints }), [FIRST]);
}

async function outage(route) {
  equal("well", await route.tried(), [FIRST]);
  await route.control("/kill");
  try {
    for (const stream of [false, true]) equal("moved", await route.tried({ stream }), [FIRST, SECOND]);
    // Whoever is dead is not asked any more.
    await route.until([SECOND]);
  } finally {
    await route.control("/revive");
  }
  await route.until([FIRST]);
  equal("back for streams too", await route.tried({ stream: true }), [FIRST]);
}

/** What a receipt says of routing, of an answer that the first backend gave. */
async function routingOf(route, more) {
  const { provider, routing } = (await route.receipt(more)).kept;
  equal("provider", provider, FIRST);
  equal("subsystem", [routing.subsystem, routing.automatic], [route.cell.subsystem, true]);
  equal("the agent", Object.fromEntries(Object.keys(GOLEM).map((name) => [name, routing[name]])), GOLEM);
  equal("warnings", routing.warnings, []);
  // Hints in the body make the request longer, which its estimate does not look behind.
  return { ...routing, estimated_cost: null };
}

const hintsBody = (route) => routingOf(route, { hints: route.hints(GOLEM) });

async function hintsHeaders(route) {
  const headers = { "X-Bardo-Subsystem": route.cell.subsystem };
  for (const [name, value] of Object.entries(GOLEM)) headers[`X-Bardo-${name.replaceAll("_", "-")}`] = String(value);
  const told = await routingOf(route, { headers });
  equal("the same hints in the body", await routingOf(route, { hints: route.hints(GOLEM) }), told);
}

async function privacy(route) {
  const { message, body } = await route.refused({ security_class: "private" });
  equal("bardo_code", body.bardo_code, "privacy_unavailable");
  if (!message.includes("providers.venice")) throw new Unmet(`it does not say what would help: ${message}`);
  await route.till.charged(0);
}

async function malformed(route) {
  // In a header it is a class of protection that nobody knows that must not pass.
  const { message, body } = await route.refused({ security_class: "secret" });
  equal("bardo_code", body.bardo_code, "invalid_request");
  if (!message.includes("security_class")) throw new Unmet(`it does not name the hint: ${message}`);
  await route.till.charged(0);
}

async function schema(route) {
  for (const stream of [false, true]) {
    const { text, kept } = await route.receipt({ stream, hints: { subsystem: "heartbeat_t1" } });
    equal("decision", JSON.parse(text), route.cell.expect.value);
    equal("held to a schema", kept.routing.profile.structured, true);
    const found = kept.routing.schema;
    // A stream that is relayed byte for byte is not read.
    if (stream && found === null) continue;
    equal("schema", [found.name, found.valid, found.repaired], ["heartbeat_decision", true, false]);
  }
}

const SCENARIOS = {
  moves,
  outage,
  "hints-body": hintsBody,
  "hints-headers": hintsHeaders,
  privacy,
  malformed,
  schema,
};

/** Runs a cell with an SDK's own way to ask and to refuse. */
export const check = (cell, ask, refusal) => SCENARIOS[cell.scenario](new Route(cell, ask, refusal));

/** The same with the official SDKs, whose requests are counted: each asks once. */
export async function routing(adapter, cell) {
  const till = new Till(adapter, cell);
  const plain = adapter.request.bind(adapter);
  const ask = async ({ stream = false, hints, headers = {} }) => {
    till.retries(2, { defaultHeaders: headers });
    adapter.request = (history) => ({ ...plain(history), [LIMITS[cell.dialect]]: 400, ...(hints && { bardo: hints }) });
    adapter.options = { ...cell.options, stream };
    let text = "";
    if (stream && cell.dialect === "chat") {
      // OpenRouter's last chunk has usage beside an empty choice, and is relayed as it is.
      for await (const piece of adapter.rawStream(cell.prompt)) text += piece;
    } else text = (await adapter.ask(adapter.opening(cell.prompt))).text;
    equal("requests of the SDK", till.seen.map(({ status }) => status), [200]);
    return { text, header: (name) => till.headers.get(name) };
  };
  const refusal = (caught) => {
    if (!(caught instanceof adapter.sdk.BadRequestError)) throw caught;
    equal("requests of the SDK", till.seen.map(({ status }) => status), [400]);
    return { status: caught.status, message: caught.message, body: bodyOf(caught) };
  };
  await check(cell, ask, refusal);
}
