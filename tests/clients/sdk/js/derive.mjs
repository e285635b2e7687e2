// Derives JSON schemas from the SDKs' own type declarations and writes `schemas-*.json`.
//
// The JavaScript SDKs hand over whatever the server sent without a look at it. Holding
// every answer and every stream event to the types the SDK promises its users is the
// same strictness the Python SDKs have built in.
//
//   node derive.mjs DIRECTORY_WITH_NODE_MODULES
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const place = path.resolve(process.argv[2]);
const require = createRequire(path.join(place, "package.json"));
const { createGenerator } = require("ts-json-schema-generator");

// One schema per SDK: both have a `Model` and a `Message`, and they are not the same.
const SOURCES = {
  openai: `
import type { ChatCompletion, ChatCompletionChunk } from "openai/resources/chat/completions";
import type { Response, ResponseStreamEvent } from "openai/resources/responses/responses";
import type { CreateEmbeddingResponse } from "openai/resources/embeddings";
import type { Model } from "openai/resources/models";
export type WireChatAnswer = ChatCompletion;
export type WireChatChunk = ChatCompletionChunk;
export type WireResponsesAnswer = Response;
export type WireResponsesEvent = ResponseStreamEvent;
export type WireEmbeddings = CreateEmbeddingResponse;
export type WireModel = Model;
`,
  anthropic: `
import type { Message, MessageTokensCount, RawMessageStreamEvent } from "@anthropic-ai/sdk/resources/messages";
import type { ModelInfo } from "@anthropic-ai/sdk/resources/models";
export type WireAnswer = Message;
export type WireEvent = RawMessageStreamEvent;
export type WireTokensCount = MessageTokensCount;
export type WireModel = ModelInfo;
`,
};
const OPTIONS = { module: "nodenext", moduleResolution: "nodenext", target: "es2022", strict: true, skipLibCheck: true };

// Keys the declarations require and the OpenAI service leaves out: the first is the SDK's
// own sum of the text, the other is newer than the service's documents.
const ABSENT = ["output_text", "access_programs"];
// Anthropic's declarations call every nullable key required, and the service leaves most
// out where they do not apply. These it always sends, and programs rely on them.
const ALWAYS = ["stop_reason", "stop_sequence", "content_block", "delta"];

function isNullable(schema) {
  const types = [schema.type, ...(schema.anyOf ?? []).map((member) => member.type)].flat();
  return types.includes("null") || schema.const === null;
}

/** Frees what a service may leave out, everywhere in a schema. */
function allowAbsent(node, sdk) {
  if (Array.isArray(node)) return node.forEach((item) => allowAbsent(item, sdk));
  if (node === null || typeof node !== "object") return;
  for (const value of Object.values(node)) allowAbsent(value, sdk);
  if (!Array.isArray(node.required) || !node.properties) return;
  node.required = node.required.filter((key) => {
    if (sdk === "openai") return !ABSENT.includes(key);
    return ALWAYS.includes(key) || !isNullable(node.properties[key]);
  });
}

/** An optional key may be null: the services write `"system_fingerprint":null` where nothing is set. */
function allowNull(node) {
  if (Array.isArray(node)) return node.forEach(allowNull);
  if (node === null || typeof node !== "object") return;
  for (const [key, value] of Object.entries(node.properties ?? {})) {
    allowNull(value);
    if (!node.required?.includes(key)) node.properties[key] = { anyOf: [value, { type: "null" }] };
  }
  for (const [key, value] of Object.entries(node)) if (key !== "properties") allowNull(value);
}

for (const [sdk, source] of Object.entries(SOURCES)) {
  const file = path.join(place, `wire-${sdk}.ts`);
  const tsconfig = path.join(place, `tsconfig-${sdk}.json`);
  fs.writeFileSync(file, source);
  fs.writeFileSync(tsconfig, JSON.stringify({ compilerOptions: OPTIONS, include: [path.basename(file)] }));
  const generator = createGenerator({ path: file, tsconfig, skipTypeCheck: true, additionalProperties: true });
  const schema = generator.createSchema();
  allowAbsent(schema.definitions, sdk);
  allowNull(schema.definitions);
  fs.writeFileSync(path.join(place, `schemas-${sdk}.json`), JSON.stringify(schema));
}
