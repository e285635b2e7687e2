// Compiles the contracts of the local chain. Usage, in this folder: npm ci && node compile.mjs
// It writes the code that makes each contract, for the node that tests start and for tests/clients.

import fs from "node:fs";
import solc from "solc";

const folder = new URL("contracts/", import.meta.url);
const read = (name) => [name, { content: fs.readFileSync(new URL(name, folder), "utf8") }];
const input = {
  language: "Solidity",
  sources: Object.fromEntries(fs.readdirSync(folder).sort().map(read)),
  settings: {
    optimizer: { enabled: true, runs: 200 },
    viaIR: true,
    evmVersion: "cancun",
    outputSelection: { "*": { "*": ["evm.bytecode.object"] } },
  },
};
const output = JSON.parse(solc.compile(JSON.stringify(input)));
for (const error of output.errors ?? []) {
  if (error.severity === "error") {
    console.error(error.formattedMessage);
    process.exitCode = 1;
  }
}
const code = {};
for (const contracts of Object.values(output.contracts ?? {})) {
  for (const [name, { evm }] of Object.entries(contracts)) {
    if (evm.bytecode.object) code[name] = `0x${evm.bytecode.object}`;
  }
}
const target = new URL("../../crates/bardo-store/src/servers/contracts.json", import.meta.url);
fs.writeFileSync(target, `${JSON.stringify(code, null, 1)}\n`);
