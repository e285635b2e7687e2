// Reads the plan from stdin, runs its cells one after the other and writes a JSON line for each:
// `{"id", "ok", "detail", "seconds"}`.
import { Unmet } from "./replies.mjs";

function described(caught) {
  const cause = caught?.cause ? `\nbecause of ${caught.cause}` : "";
  return `${caught?.stack ?? JSON.stringify(caught)}${cause}`.slice(0, 2500);
}

async function outcome(cell, run) {
  const started = performance.now();
  let detail = null;
  try {
    await run(cell);
  } catch (caught) {
    detail = caught instanceof Unmet ? caught.message : described(caught);
  }
  return { id: cell.id, ok: detail === null, detail, seconds: (performance.now() - started) / 1000 };
}

export async function serve(run) {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  for (const cell of JSON.parse(Buffer.concat(chunks))) {
    const line = JSON.stringify(await outcome(cell, run));
    await new Promise((done) => process.stdout.write(`${line}\n`, done));
  }
  // Idle keep-alive sockets would hold the process open.
  process.exit(0);
}
