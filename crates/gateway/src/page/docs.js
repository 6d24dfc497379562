"use strict";
// Renders the OpenAPI document that stands in the page, and tries calls. No library, no network but the API's own.
const spec = JSON.parse(document.getElementById("openapi").textContent);
const el = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children) node.append(child ?? "");
  return node;
};
const resolve = (thing) => {
  if (!thing || !thing.$ref) return thing;
  return thing.$ref.split("/").slice(1).reduce((at, part) => at[part], spec);
};
const sample = (schema) => {
  schema = resolve(schema) || {};
  if (schema.default !== undefined) return schema.default;
  if (schema.examples) return schema.examples[0];
  if (schema.enum) return schema.enum[0];
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === "object") return Object.fromEntries(Object.entries(schema.properties || {}).map(([k, v]) => [k, sample(v)]));
  if (type === "array") return [sample(schema.items)];
  if (type === "integer" || type === "number") return Math.max(0, schema.minimum ?? 0);
  if (type === "boolean") return true;
  return "";
};
// What a schema allows, as a person would say it.
const rules = (schema) => {
  const { minimum: low, maximum: high, exclusiveMinimum: above, exclusiveMaximum: below, enum: names } = schema;
  const said = [
    above !== undefined && `more than ${above}`,
    below !== undefined && `less than ${below}`,
    low !== undefined && high !== undefined ? `${low} to ${high}` : low !== undefined ? `at least ${low}` : high !== undefined && `at most ${high}`,
    schema.multipleOf !== undefined && `in steps of ${schema.multipleOf}`,
    schema.minLength > 1 && `at least ${schema.minLength} characters`,
    schema.maxLength !== undefined && `at most ${schema.maxLength} character${schema.maxLength === 1 ? "" : "s"}`,
    schema.minItems !== undefined && `at least ${schema.minItems} elements`,
    schema.maxItems !== undefined && `at most ${schema.maxItems} elements`,
    ["date", "date-time", "float", "double"].includes(schema.format) && schema.format,
    schema.default !== undefined && `by default ${JSON.stringify(schema.default)}`,
    names && `one of ${names.slice(0, 5).join(", ")}${names.length > 5 ? ", …" : ""}`,
  ];
  return said.filter(Boolean).join(" · ");
};
// Text with `code` in it.
const prose = (text) => (text || "").split("`").map((part, i) => i % 2 ? el("code", {}, part) : part);
const tree = (schema, name, required) => {
  schema = resolve(schema) || {};
  const type = [].concat(schema.type || (schema.anyOf ? "any of" : "any")).join(" | ");
  const head = el("span", {}, el("code", {}, name), " ", el("em", {}, type + (required ? " · required" : "")), " ",
    el("small", {}, rules(schema)), el("small", { class: "what" }, schema.description ? " " + schema.description : ""));
  const inner = schema.anyOf ? schema.anyOf.map((one, i) => tree(one, `variant ${i + 1}`))
    : schema.type === "array" ? [tree(schema.items, "each")]
    : Object.entries(schema.properties || {}).map(([key, value]) => tree(value, key, (schema.required || []).includes(key)));
  return inner.length ? el("details", {}, el("summary", {}, head), ...inner) : el("div", { class: "leaf" }, head);
};
const credentials = {};
const operation = (path, method, op) => {
  const inputs = [];
  const row = (parameter) => {
    const schema = resolve(parameter.schema) || {};
    // An example is filled in only where something has to be: else it would change what a plain call asks for.
    const value = schema.default ?? (parameter.required ? parameter.example ?? sample(schema) : "");
    const hint = parameter.example !== undefined ? `such as ${parameter.example}` : schema.type || "";
    const input = el("input", { value, placeholder: hint, "aria-label": parameter.name });
    inputs.push([parameter, input]);
    const allowed = rules(schema);
    return el("tr", {}, el("td", {}, el("code", {}, parameter.name)),
      el("td", {}, el("small", {}, parameter.in + (parameter.required ? " · required" : ""))), el("td", {}, input),
      el("td", {}, el("small", {}, ...prose(parameter.description), parameter.description && allowed ? " · " : "", allowed)));
  };
  const body = op.requestBody && op.requestBody.content["application/json"];
  const text = body && el("textarea", { rows: 10, spellcheck: "false", "aria-label": "body" }, JSON.stringify(sample(body.schema), null, 2));
  const media = el("select", { "aria-label": "accept" }, el("option", {}, "application/json"), el("option", {}, "application/xml"));
  const out = el("div", { class: "out", "aria-live": "polite" });
  const refuse = (why, ...more) => out.replaceChildren(el("p", { class: "bad" }, why), ...more);
  const quoted = (word) => `'${word.replaceAll("'", "'\\''")}'`;
  const send = async () => {
    // Without its value, the path would be another one.
    const missing = inputs.find(([parameter, input]) => parameter.in === "path" && input.value === "");
    if (missing) return refuse(`The path needs a value for ${missing[0].name}.`);
    let target = path;
    const query = new URLSearchParams();
    const headers = { accept: media.value, ...credentials };
    for (const [parameter, input] of inputs) {
      if (parameter.in === "path") target = target.replace(`{${parameter.name}}`, encodeURIComponent(input.value));
      else if (input.value === "") continue;
      else if (parameter.in === "query") query.set(parameter.name, input.value);
      else headers[parameter.name] = input.value;
    }
    const url = target + (query.size ? `?${query}` : "");
    const options = { method: method.toUpperCase(), headers };
    if (text && text.value.trim()) {
      if (options.method === "GET") {
        const named = Object.keys(credentials).map((name) => ` -H '${name}: …'`).join("");
        const command = `curl -X GET ${quoted(location.origin + url)} -H 'content-type: application/json'${named} -d ${quoted(text.value)}`;
        return refuse("Browsers send no body with GET. In a shell:", el("pre", {}, command));
      }
      options.body = text.value;
      headers["content-type"] = "application/json";
    }
    out.replaceChildren(el("p", {}, "…"));
    const began = performance.now();
    try {
      const answer = await fetch(url, options);
      const raw = await answer.text();
      const took = (performance.now() - began).toFixed(1);
      let shown = raw;
      try { shown = JSON.stringify(JSON.parse(raw), null, 2); } catch { /* XML stays as it is. */ }
      out.replaceChildren(
        el("p", { class: answer.ok ? "good" : "bad" }, `${answer.status} ${answer.statusText} · ${raw.length} bytes · ${took} ms`),
        el("pre", {}, `${options.method} ${url}\n\n${[...answer.headers].map(([k, v]) => `${k}: ${v}`).join("\n")}`),
        el("pre", { class: "answer" }, shown.length > 200000 ? shown.slice(0, 200000) + "\n…" : shown));
    } catch (error) {
      out.replaceChildren(el("p", { class: "bad" }, String(error)));
    }
  };
  const responses = Object.entries(op.responses).map(([status, response]) => {
    response = resolve(response);
    const json = response.content && response.content["application/json"];
    return el("div", { class: "response" }, el("b", {}, status), " ", response.description, json ? tree(json.schema, "answer") : "");
  });
  return el("section", { id: op.operationId },
    el("h2", {}, el("span", { class: `method ${method}` }, method.toUpperCase()), " ", el("code", {}, path)),
    el("p", {}, el("b", {}, op.summary || ""), " ", ...prose(op.description)),
    op["x-roles"] ? el("p", {}, `Needs one of the roles ${op["x-roles"].join(", ")}.`) : "",
    el("table", {}, ...(op.parameters || []).map(row)),
    text ? el("div", {}, el("h3", {}, "Body"), text, tree(body.schema, "body")) : "",
    el("p", {}, el("button", { onclick: send, type: "button" }, "Try it"), " ", media), out,
    el("h3", {}, "Responses"), ...responses);
};
const schemes = (spec.components && spec.components.securitySchemes) || {};
const secret = (label, header, wrap) => el("label", {}, label, " ", el("input", { type: "password", autocomplete: "off",
  oninput: (event) => { if (event.target.value) credentials[header] = wrap(event.target.value); else delete credentials[header]; } }));
document.title = spec.info.title;
document.body.append(
  el("header", {}, el("h1", {}, spec.info.title, " ", el("small", {}, spec.info.version)), el("p", {}, ...prose(spec.info.description)),
    el("p", {}, el("a", { href: "openapi.json" }, "openapi.json"), ` · OpenAPI ${spec.openapi}`),
    schemes.apiKey ? secret("API key", "x-api-key", (value) => value) : "",
    schemes.bearer ? secret("Token", "authorization", (value) => `Bearer ${value}`) : "",
    el("nav", {}, ...Object.entries(spec.paths).flatMap(([path, item]) => Object.entries(item).map(([method, op]) =>
      el("a", { href: `#${op.operationId}` }, el("span", { class: `method ${method}` }, method.toUpperCase()), " ", path))))),
  el("main", {}, ...Object.entries(spec.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, op]) => operation(path, method, op)))));
