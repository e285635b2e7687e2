"use strict";

const ROWS_MAX = 100;
const at = (id) => document.getElementById(id);
let key = "";
let stream = null;
let statusTimer = 0;

function say(text, isBad) {
  at("state").textContent = text;
  at("state").className = isBad ? "bad" : "";
}

async function call(path, method) {
  const reply = await fetch(path, { method: method || "GET", headers: { authorization: `Bearer ${key}` } });
  const body = await reply.json();
  if (!reply.ok) throw new Error(body.error ? body.error.message : `status ${reply.status}`);
  return body;
}

const percent = (part) => (part === null || part === undefined ? "–" : `${Math.round(part * 100)} %`);
const money = (usd) => (usd === null || usd === undefined ? "unknown" : `$${usd}`);
const shares = (all) => Object.entries(all).map(([name, part]) => `${name} ${percent(part)}`).join(", ") || "–";

function facts(status) {
  const rows = [
    ["Key at Venice", status.keyStatus || (status.configured ? "not used yet" : "none")],
    ["Latest model", status.activeModel || "–"],
    ["Privacy of the calls", shares(status.privacyTierDistribution)],
    ["From Venice's cache", shares(status.cacheHitRates)],
    ["Cost of these calls", `${status.callsWithUnknownCost ? "at least " : ""}${money(status.totalCostUsd)}`],
    ["Calls remembered", String(status.calls)],
    ["Evidence for TEE", status.evidence],
    ...(status.synthetic ? [["Provider", "simulated"]] : []),
  ];
  at("facts").replaceChildren(...rows.map(([name, value]) => {
    const group = document.createElement("div");
    const term = document.createElement("dt");
    const detail = document.createElement("dd");
    term.textContent = name;
    detail.textContent = value;
    group.append(term, detail);
    return group;
  }));
  at("facts").hidden = false;
}

function row(values) {
  const line = document.createElement("tr");
  for (const value of values) line.insertCell().textContent = value;
  return line;
}

const time = (when) => when.toLocaleTimeString();

function remembered(record) {
  return row([
    time(new Date(record.timestamp)), record.cognition_class || "–", record.model_id, record.privacy_tier || "unknown",
    `${record.latency_ms} ms`, percent(record.cached_tokens_ratio), money(record.cost_estimate_usdc),
    record.failure ? record.failure.class : record.outcome,
  ]);
}

function happened(event) {
  return row([
    time(new Date()), event.class || "–", event.modelId, event.privacyTier || "unknown", `${event.latencyMs} ms`,
    percent(event.cachedTokenRatio), money(event.costUsd), event.failure || event.outcome,
  ]);
}

function trim() {
  const rows = at("rows");
  while (rows.rows.length > ROWS_MAX) rows.deleteRow(-1);
  at("none").hidden = rows.rows.length > 0;
}

async function refresh() {
  facts(await call("/venice/status"));
}

async function follow() {
  const { token } = await call("/venice/stream-token", "POST");
  stream = new EventSource(`/venice/stream?token=${token}`);
  stream.addEventListener("cognition", (event) => {
    at("rows").prepend(happened(JSON.parse(event.data)));
    trim();
    clearTimeout(statusTimer);
    statusTimer = setTimeout(() => refresh().catch(() => {}), 500);
  });
  stream.onopen = () => say("Live. New calls appear by themselves.");
  // A token opens one stream, so a new one is needed to come back.
  stream.onerror = () => {
    stream.close();
    say("The stream ended. The page connects again.", true);
    setTimeout(() => show().catch((error) => say(error.message, true)), 2000);
  };
}

async function show() {
  if (stream) stream.close();
  await refresh();
  const latest = await call("/venice/telemetry?limit=100");
  at("rows").replaceChildren(...latest.data.map(remembered));
  at("calls").hidden = false;
  trim();
  await follow();
}

at("open").addEventListener("submit", (event) => {
  event.preventDefault();
  key = at("key").value.trim();
  say("Reading …");
  show().catch((error) => say(error.message, true));
});
