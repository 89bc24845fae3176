// Shows the operations of the description: parameters, bodies, answers, a line of curl. Text of the
// description is set as text, never as HTML.
"use strict";

const METHODS = ["get", "post", "put", "patch", "delete"];

function element(name, attributes, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

const nameOf = (reference) => reference.split("/").pop();

// A short form of a schema, as `string`, `[Head]` or `string | null`, with links to the schemas it names.
function typeOf(schema) {
  if (!schema) return ["any"];
  if (schema.$ref) {
    const name = nameOf(schema.$ref);
    return [element("a", { href: `#schema-${name}` }, name)];
  }
  const several = schema.oneOf ?? schema.anyOf ?? schema.allOf;
  if (several) return several.flatMap((one, at) => (at ? [" | ", ...typeOf(one)] : typeOf(one)));
  if (schema.enum) return [schema.enum.map((one) => JSON.stringify(one)).join(" | ")];
  if (schema.type === "array") return ["[", ...typeOf(schema.items), "]"];
  const kinds = [schema.type ?? "any"].flat().join(" | ");
  return [schema.format ? `${kinds} (${schema.format})` : kinds];
}

function row(...cells) {
  return element("tr", {}, ...cells.map((cell) => element("td", {}, ...[cell].flat())));
}

function table(rows) {
  return element("table", {}, element("tbody", {}, ...rows));
}

const shown = (text) => element("span", { class: "quiet" }, text ?? "");

function parameters(list) {
  const rows = list.map((one) =>
    row(
      element("code", {}, one.name),
      shown(one.required ? `${one.in}, required` : one.in),
      typeOf(one.schema),
      one.description ?? "",
    ),
  );
  return rows.length ? [element("h4", {}, "Parameters"), table(rows)] : [];
}

function bodies(content) {
  return Object.entries(content ?? {}).flatMap(([kind, one], at) => [
    at ? ", or " : "",
    ...typeOf(one.schema),
    shown(` ${kind}`),
  ]);
}

function answers(responses) {
  const rows = Object.entries(responses).map(([status, one]) =>
    row(element("code", {}, status), bodies(one.content), one.description ?? ""),
  );
  return [element("h4", {}, "Answers"), table(rows)];
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function curl(method, path, operation) {
  const words = ["curl -sf"];
  if (method !== "get") words.push("-X", method.toUpperCase());
  words.push(quoted(location.origin + path));
  if (operation.security?.some((one) => Object.keys(one).length) ?? true) {
    words.push('-H "Authorization: Bearer $TOKEN"');
  }
  if (operation.requestBody?.content?.["application/json"]) words.push("--json '{ .. }'");
  return words.join(" ");
}

function operationOf(method, path, operation) {
  const body = operation.requestBody;
  const inside = element("div", { class: "inside" });
  const made = element(
    "details",
    { id: operation.operationId ?? `${method}-${path}` },
    element(
      "summary",
      {},
      element("span", { class: "method" }, method.toUpperCase()),
      element("code", {}, path),
      shown(` ${operation.summary ?? ""}`),
    ),
    inside,
  );
  // Filled when it is opened first: there are some thousand rows.
  made.addEventListener(
    "toggle",
    () =>
      inside.append(
        element("p", {}, operation.description ?? ""),
        element("pre", {}, curl(method, path, operation)),
        ...parameters(operation.parameters ?? []),
        ...(body ? [element("h4", {}, "Body"), element("p", {}, ...bodies(body.content))] : []),
        ...answers(operation.responses ?? {}),
      ),
    { once: true },
  );
  made.dataset.words = `${method} ${path} ${operation.summary ?? ""}`.toLowerCase();
  return made;
}

function schemaOf(name, schema) {
  const required = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).map(([key, one]) =>
    row(
      element("code", {}, key),
      typeOf(one),
      shown(required.has(key) ? "required" : ""),
      one.description ?? "",
    ),
  );
  const made = element(
    "details",
    { id: `schema-${name}` },
    element("summary", {}, element("code", {}, name)),
    element(
      "div",
      { class: "inside" },
      element("p", {}, schema.description ?? ""),
      rows.length ? table(rows) : element("p", {}, ...typeOf(schema)),
    ),
  );
  made.dataset.words = name.toLowerCase();
  return made;
}

// Opens what the address names, as `#branch` or `#schema-Head`.
function openNamed() {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (named instanceof HTMLDetailsElement) {
    // A filter may hide it.
    named.hidden = false;
    named.closest("section").hidden = false;
    named.open = true;
    named.scrollIntoView();
  }
}

function filter(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const section of document.querySelectorAll("section")) {
    let any = false;
    for (const one of section.querySelectorAll("details")) {
      one.hidden = !words.every((word) => one.dataset.words.includes(word));
      any ||= !one.hidden;
      if (!one.hidden && !one.id.startsWith("schema-")) found += 1;
    }
    section.hidden = !any;
  }
  document.getElementById("count").textContent =
    found === 1 ? "1 operation" : `${found} operations`;
}

async function show() {
  const answer = await fetch("/openapi.json");
  if (!answer.ok) throw new Error(`openapi.json: ${answer.status}`);
  const api = await answer.json();
  document.getElementById("about").textContent =
    `${api.info.description ?? ""} Version ${api.info.version}.`;
  const groups = new Map();
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const method of METHODS.filter((one) => methods[one])) {
      const operation = methods[method];
      const group = operation.tags?.[0] ?? "others";
      groups.set(group, [...(groups.get(group) ?? []), operationOf(method, path, operation)]);
    }
  }
  const schemas = Object.entries(api.components?.schemas ?? {});
  groups.set("schemas", schemas.map(([name, schema]) => schemaOf(name, schema)));
  for (const [group, made] of groups) {
    document.getElementById("api").append(element("section", {}, element("h2", {}, group), ...made));
  }
  const field = document.getElementById("filter");
  field.addEventListener("input", () => filter(field.value));
  filter(field.value);
  window.addEventListener("hashchange", openNamed);
  openNamed();
}

show().catch((error) => {
  document.getElementById("api").textContent = `The description cannot be shown: ${error.message}`;
});
