// Validators over the schemas that were derived from the SDKs' types.
import fs from "node:fs";
import { Ajv } from "ajv";
import { Unmet } from "./replies.mjs";

const ajv = new Ajv({ strict: false, allErrors: false, validateFormats: false });
for (const sdk of ["openai", "anthropic"]) {
  const schema = JSON.parse(fs.readFileSync(new URL(`../schemas-${sdk}.json`, import.meta.url)));
  ajv.addSchema(schema, sdk);
}
const compiled = new Map();

/** Throws where `value` is not what the SDK's type promises; `name` is like `openai/ChatAnswer`. */
export function hold(name, value) {
  const [sdk, type] = name.split("/");
  if (!compiled.has(name)) compiled.set(name, ajv.compile({ $ref: `${sdk}#/definitions/Wire${type}` }));
  const validate = compiled.get(name);
  if (validate(value)) return value;
  const reasons = narrowed(validate.errors).slice(0, 6);
  throw new Unmet(`not a ${name}: ${reasons.join("; ")} in ${JSON.stringify(value).slice(0, 300)}`);
}

/** A union fails once per member; what fails deepest is most likely about the member that was meant. */
function narrowed(errors) {
  const depth = (error) => error.instancePath.split("/").length;
  const telling = errors.filter((error) => error.keyword !== "anyOf" && error.keyword !== "const");
  telling.sort((a, b) => depth(b) - depth(a));
  return [...new Set(telling.map((error) => `${error.instancePath || "/"} ${error.message}`))];
}
