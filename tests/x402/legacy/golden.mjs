// Signs a payment with the TypeScript client of version 1, as `x402-fetch` does it.
// Usage: node golden.mjs > ../../../crates/bardo-x402/tests/golden/legacy.json

import { readFileSync } from "node:fs";
import { privateKeyToAccount } from "viem/accounts";
import { createPaymentHeader } from "x402/client";
import { PaymentRequirementsSchema } from "x402/types";

const NOW_S = 1_800_000_000;
const NONCE_BYTE = 0x11;
// The second of the test keys that local chains come with. Nobody keeps money on it.
const KEY = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";
const OFFERS = new URL("../../../crates/bardo-x402/tests/golden/offers.json", import.meta.url);

Date.now = () => NOW_S * 1000;
globalThis.crypto.getRandomValues = (bytes) => bytes.fill(NONCE_BYTE);

const { body } = JSON.parse(readFileSync(OFFERS)).exact_v1;
const [requirement] = body.accepts.map((one) => PaymentRequirementsSchema.parse(one));
const value = await createPaymentHeader(privateKeyToAccount(KEY), body.x402Version, requirement);
const cases = { exact_v1: { offer: "exact_v1", header: "x-payment", value } };
const golden = { now_s: NOW_S, nonce_byte: NONCE_BYTE, cases };
process.stdout.write(`${JSON.stringify(golden, null, 2)}\n`);
