// Signs payments with the official TypeScript client, with fixed keys, nonces and times.
// Usage: node golden.mjs > ../../crates/bardo-x402/tests/golden/typescript.json

import { x402Client, x402HTTPClient } from "@x402/core/client";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { ExactEvmSchemeV1 } from "@x402/evm/exact/v1/client";
import { UptoEvmScheme } from "@x402/evm/upto/client";
import {
  eip3009ABI,
  x402ExactPermit2ProxyABI,
  x402UptoPermit2ProxyABI,
} from "@x402/evm";
import { encodeFunctionData, parseSignature } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { readFileSync } from "node:fs";

const NOW_S = 1_800_000_000;
const NONCE_BYTE = 0x11;
const CHARGE = 1_858n;
// The second of the test keys that local chains come with. Nobody keeps money on it.
const KEY = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";

Date.now = () => NOW_S * 1000;
globalThis.crypto.getRandomValues = (bytes) => bytes.fill(NONCE_BYTE);

const account = privateKeyToAccount(KEY);

/** A signer that sees a chain on which Permit2 may take `allowance`. */
const signer = (allowance) => ({
  address: account.address,
  signTypedData: (message) => account.signTypedData(message),
  readContract: async ({ functionName }) => ({ allowance, nonces: 7n })[functionName],
});

const OFFERS = new URL("../../crates/bardo-x402/tests/golden/offers.json", import.meta.url);
const offers = JSON.parse(readFileSync(OFFERS));

async function pay(name, allowance) {
  const { header, body } = offers[name];
  const client = new x402Client()
    .register("eip155:*", new ExactEvmScheme(signer(allowance)))
    .register("eip155:*", new UptoEvmScheme(signer(allowance)));
  if (!header) {
    client.registerV1(body.accepts[0].network, new ExactEvmSchemeV1(signer(allowance)));
  }
  const http = new x402HTTPClient(client);
  const required = http.getPaymentRequiredResponse(
    (asked) => (asked.toUpperCase() === "PAYMENT-REQUIRED" ? (header ?? null) : null),
    body,
  );
  const payment = await http.createPaymentPayload(required);
  const [[headerName, value]] = Object.entries(http.encodePaymentSignatureHeader(payment));
  return { offer: name, header: headerName.toLowerCase(), value, calldata: settlement(payment) };
}

/** Calldata that settles a payment: `upto` at CHARGE, `exact` whole. */
function settlement({ payload, extensions }) {
  const { authorization, permit2Authorization, signature } = payload;
  if (authorization) {
    const { from, to, value, validAfter, validBefore, nonce } = authorization;
    const { v, r, s } = parseSignature(signature);
    return encodeFunctionData({
      abi: eip3009ABI.filter((one) => one.inputs.length === 9),
      functionName: "transferWithAuthorization",
      args: [from, to, value, validAfter, validBefore, nonce, Number(v), r, s],
    });
  }
  const { from, permitted, nonce, deadline, witness } = permit2Authorization;
  const transfer = { permitted, nonce, deadline };
  const sponsored = extensions?.eip2612GasSponsoring?.info;
  const charge = witness.facilitator ? [CHARGE] : [];
  const abi = witness.facilitator ? x402UptoPermit2ProxyABI : x402ExactPermit2ProxyABI;
  if (!sponsored?.signature) {
    const args = [transfer, ...charge, from, witness, signature];
    return encodeFunctionData({ abi, functionName: "settle", args });
  }
  const { v, r, s } = parseSignature(sponsored.signature);
  const permit = { value: sponsored.amount, deadline: sponsored.deadline, r, s, v: Number(v) };
  const args = [permit, transfer, ...charge, from, witness, signature];
  return encodeFunctionData({ abi, functionName: "settleWithPermit", args });
}

const cases = {
  exact_v2: await pay("exact_v2", 0n),
  exact_sepolia_v2: await pay("exact_sepolia_v2", 0n),
  exact_permit2_v2: await pay("exact_permit2_v2", 10n ** 18n),
  upto_v2: await pay("upto_v2", 10n ** 18n),
  upto_permit_v2: await pay("upto_v2", 0n),
  exact_v1: await pay("exact_v1", 0n),
};
const golden = { now_s: NOW_S, nonce_byte: NONCE_BYTE, charge: Number(CHARGE), permit_nonce: 7, cases };
process.stdout.write(`${JSON.stringify(golden, null, 2)}\n`);
