// Pays by x402's first version.
import { privateKeyToAccount } from "viem/accounts";
import { wrapFetchWithPayment } from "x402-fetch";
import { byFetch, serve } from "./asking.mjs";

await serve((cell) => byFetch(wrapFetchWithPayment(fetch, privateKeyToAccount(cell.key)), cell));
