// A stored answer must be as good to the SDK as the live one that it repeats.
import { Unmet, checkLoop } from "./replies.mjs";

export async function hits(adapter, cell) {
  const seen = [];
  const watched = async (url, init) => {
    const answer = await fetch(url, init);
    seen.push(answer.headers);
    return answer;
  };
  adapter.client = adapter.client.withOptions({ fetch: watched, defaultHeaders: { "X-Bardo-Cache": "default" } });
  const live = await adapter.ask(adapter.opening(cell.prompt));
  const again = await adapter.ask(adapter.opening(cell.prompt));
  for (const reply of [live, again]) checkLoop(cell, reply, [], 1);
  for (const part of ["text", "stop", "inputTokens", "outputTokens"]) {
    if (live[part] !== again[part]) throw new Unmet(`${part}: ${live[part]} live, ${again[part]} stored`);
  }
  const told = seen.map((headers) => headers.get("x-bardo-cache"));
  if (String(told) !== "miss,hash") throw new Unmet(`x-bardo-cache ${told}`);
  const cost = seen.at(-1).get("x-bardo-cost");
  if (cost !== "0.000000") throw new Unmet(`it costs ${cost}`);
}
