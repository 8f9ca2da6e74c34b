// One request as code in six languages. Each is complete: it can be pasted and run.

import type { Body } from '../session/request';
import type { Json } from '../api/wire';

export const LANGUAGES = ['curl', 'Python', 'JavaScript', 'R', 'Julia', 'Go'] as const;
export type SnippetLanguage = (typeof LANGUAGES)[number];

/** A JSON value as a Python literal. */
export function pythonLiteral(value: Json): string {
  if (value === null) return 'None';
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(', ')}]`;
  if (typeof value === 'object') {
    const items = Object.entries(value).map(([k, v]) => `${JSON.stringify(k)}: ${pythonLiteral(v)}`);
    return `{${items.join(', ')}}`;
  }
  return JSON.stringify(value);
}

function members(body: Body, literal: (value: Json) => string, indent: string): string {
  return Object.entries(body)
    .map(([key, value]) => `${indent}${JSON.stringify(key)}: ${literal(value)},`)
    .join('\n');
}

function curl(url: string, body: Body): string {
  const data = JSON.stringify(body).replaceAll("'", "'\\''");
  return `curl -s ${url} -d '${data}'`;
}

function python(url: string, body: Body): string {
  return `import json
import urllib.request

body = {
${members(body, pythonLiteral, '    ')}
}
request = urllib.request.Request(
    ${JSON.stringify(url)},
    data=json.dumps(body).encode(),
    headers={"Content-Type": "application/json"},
)
with urllib.request.urlopen(request) as response:
    answer = json.load(response)
print(answer["result"])
`;
}

function javascript(url: string, body: Body): string {
  return `const response = await fetch(${JSON.stringify(url)}, {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify({
${members(body, (value) => JSON.stringify(value), '    ')}
  }),
});
const answer = await response.json();
console.log(JSON.stringify(answer.result));
`;
}

/** A raw string of R: dashes until the text does not close it. */
function rRaw(text: string): string {
  let dashes = '---';
  while (text.includes(`)${dashes}"`)) dashes += '-';
  return `r"${dashes}(${text})${dashes}"`;
}

function r(url: string, body: Body): string {
  return `library(httr2)

body <- ${rRaw(JSON.stringify(body))}
answer <- request(${JSON.stringify(url)}) |>
  req_body_raw(body, type = "application/json") |>
  req_perform() |>
  resp_body_json(simplifyVector = TRUE)
print(answer$result)
`;
}

/** A raw string of Julia: only backslashes before a quote, and the quote, are escaped. */
function juliaRaw(text: string): string {
  return `raw"${text.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, '$1$1')}"`;
}

function julia(url: string, body: Body): string {
  return `using HTTP, JSON

body = ${juliaRaw(JSON.stringify(body))}
response = HTTP.post(${JSON.stringify(url)}, ["Content-Type" => "application/json"], body)
println(JSON.parse(String(response.body))["result"])
`;
}

function go(url: string, body: Body): string {
  const text = JSON.stringify(body).replaceAll('`', '\\u0060');
  return `package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

func main() {
	body := strings.NewReader(\`${text}\`)
	response, err := http.Post(${JSON.stringify(url)}, "application/json", body)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	var answer map[string]any
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		panic(err)
	}
	fmt.Println(answer["result"])
}
`;
}

const WRITERS: Record<SnippetLanguage, (url: string, body: Body) => string> = {
  curl, Python: python, JavaScript: javascript, R: r, Julia: julia, Go: go,
};

/** The request as code. */
export function snippet(language: SnippetLanguage, url: string, body: Body): string {
  return WRITERS[language](url, body);
}
