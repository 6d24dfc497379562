// Validates values against schemas with ajv, and prints each value whose verdict is not the expected one.
//
//   node ajv.mjs TOOLS <lines          TOOLS: the folder with node_modules
//
// A line has fields with tabs between them: `schema ID JSON`, then `value ID ok|no JSON`. At most three values of a schema are printed, as `ID expected JSON errors`.
// The last line is the number of values with each verdict.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(`${process.argv[2]}/`);
const Ajv = require("ajv/dist/2020.js").default;
const ajv = new Ajv({ strict: false, validateFormats: true });
require("ajv-formats").default(ajv);
ajv.addFormat("decimal", { type: "number", validate: () => true });

const schemas = new Map();
const counts = { ok: 0, no: 0 };
const printed = new Map();
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const [kind, id, ...rest] = line.split("\t");
  if (kind === "schema") {
    schemas.set(id, ajv.compile(JSON.parse(rest[0])));
    continue;
  }
  const validate = schemas.get(id);
  const verdict = validate(JSON.parse(rest[1])) ? "ok" : "no";
  counts[verdict] += 1;
  const before = printed.get(id) ?? 0;
  if (verdict !== rest[0] && before < 3) {
    printed.set(id, before + 1);
    console.log(`${id}\t${rest[0]}\t${rest[1]}\t${ajv.errorsText(validate.errors)}`);
  }
}
console.log(`${counts.ok} valid, ${counts.no} invalid`);
