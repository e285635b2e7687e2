// Pays by x402 with the protocol's own packages: over fetch, over axios, and below the OpenAI SDK.
import { wrapAxiosWithPayment } from "@x402/axios";
import { ExactEvmScheme, UptoEvmScheme, toClientEvmSigner } from "@x402/evm";
import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import axios from "axios";
import OpenAI from "openai";
import { createPublicClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { base } from "viem/chains";
import { HEADERS, PATHS, body, byFetch, serve, textOf } from "./asking.mjs";

function payer({ key, rpc, scheme }) {
  const reader = createPublicClient({ chain: base, transport: http(rpc) });
  const signer = toClientEvmSigner(privateKeyToAccount(key), reader);
  const mechanism = scheme === "exact" ? new ExactEvmScheme(signer) : new UptoEvmScheme(signer, { rpcUrl: rpc });
  return new x402Client().register("eip155:*", mechanism);
}

async function byAxios(cell) {
  const client = wrapAxiosWithPayment(axios.create({ proxy: false, responseType: "text", transformResponse: [] }), payer(cell));
  const answer = await client.post(cell.root + PATHS[cell.dialect], body(cell), { headers: HEADERS });
  return { status: answer.status, payment: answer.headers["x-bardo-payment"], text: textOf(cell, answer.data) };
}

async function byOpenAi(cell) {
  const sdk = new OpenAI({
    apiKey: "none",
    baseURL: `${cell.root}/v1`,
    maxRetries: 0,
    // A caller who pays has no key.
    defaultHeaders: { authorization: null },
    fetch: wrapFetchWithPayment(fetch, payer(cell)),
  });
  const resource = cell.dialect === "chat" ? sdk.chat.completions : sdk.responses;
  const { data, response } = await resource.create(body(cell)).withResponse();
  const told = { status: response.status, payment: response.headers.get("x-bardo-payment") };
  if (!cell.stream) return { ...told, text: cell.dialect === "chat" ? data.choices[0].message.content : data.output_text };
  let text = "";
  for await (const event of data) {
    if (cell.dialect === "chat") text += event.choices[0]?.delta?.content ?? "";
    else if (event.type === "response.output_text.delta") text += event.delta;
  }
  return { ...told, text };
}

const WAYS = { axios: byAxios, openai: byOpenAi, fetch: (cell) => byFetch(wrapFetchWithPayment(fetch, payer(cell)), cell) };
await serve((cell) => WAYS[cell.via](cell));
