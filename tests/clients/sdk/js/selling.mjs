// Sells chat completions at a fixed price, with the protocol's own middleware and facilitator. The
// answers come from the simulated OpenAI; what is not sold comes from the simulated BlockRun.
import { x402Facilitator } from "@x402/core/facilitator";
import { toFacilitatorEvmSigner } from "@x402/evm";
import { ExactEvmScheme as FacilitatorScheme } from "@x402/evm/exact/facilitator";
import { ExactEvmScheme as ServerScheme } from "@x402/evm/exact/server";
import { paymentMiddleware, x402ResourceServer } from "@x402/express";
import express from "express";
import { createWalletClient, http, publicActions } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { base } from "viem/chains";

const [rpc, key, payTo, price, sandbox] = process.argv.slice(2);
const network = "eip155:8453";
const account = privateKeyToAccount(key);
const wallet = createWalletClient({ account, chain: base, transport: http(rpc) }).extend(publicActions);
const facilitator = new x402Facilitator();
facilitator.register(network, new FacilitatorScheme(toFacilitatorEvmSigner({ ...wallet, address: account.address })));
const seller = new x402ResourceServer({
  verify: (payment, requirements) => facilitator.verify(payment, requirements),
  settle: (payment, requirements) => facilitator.settle(payment, requirements),
  getSupported: async () => facilitator.getSupported(),
}).register(network, new ServerScheme());

const SOLD = "/api/v1/chat/completions";
const app = express();
app.use(express.json({ limit: "2mb" }));
app.use(paymentMiddleware({ [`POST ${SOLD}`]: { accepts: { scheme: "exact", price, network, payTo }, description: "an answer" } }, seller));

async function relay(url, init, out) {
  const answer = await fetch(url, init);
  const body = Buffer.from(await answer.arrayBuffer());
  out.status(answer.status).type(answer.headers.get("content-type") ?? "application/json").send(body);
}
app.post(SOLD, (asked, out) => {
  const { max_tokens, ...rest } = asked.body;
  const body = JSON.stringify({ ...rest, model: "gpt-5.5", max_completion_tokens: max_tokens });
  const headers = { "content-type": "application/json", authorization: "Bearer sandbox-upstream-key" };
  return relay(`${sandbox}/openai/v1/chat/completions`, { method: "POST", headers, body }, out);
});
app.get("/{*path}", (asked, out) => relay(`${sandbox}/blockrun${asked.originalUrl}`, {}, out));

const server = app.listen(0, "127.0.0.1", () => {
  console.log(JSON.stringify({ event: "ready", listen: `127.0.0.1:${server.address().port}` }));
});
