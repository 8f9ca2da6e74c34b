// One request as code in six languages. Each is complete: it can be pasted and run. A server that
// wants a key finds it in the environment; the key itself is never written.

import type { Body } from '../session/request';
import type { Json } from '../api/json';

export const LANGUAGES = ['curl', 'Python', 'JavaScript', 'R', 'Julia', 'Go'] as const;
export type SnippetLanguage = (typeof LANGUAGES)[number];

/** The variable that holds the key of a server that wants one. */
export const KEY = 'GRADSERVE_KEY';

interface Request {
  url: string;
  body: Body;
  keyed: boolean;
}

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

/** Lines that stand only where a key is wanted. */
const when = (wanted: boolean, text: string): string => (wanted ? text : '');

function curl({ url, body, keyed }: Request): string {
  const data = JSON.stringify(body).replaceAll("'", "'\\''");
  return `curl -s ${url}${when(keyed, ` -H "Authorization: Bearer $${KEY}"`)} -d '${data}'`;
}

function python({ url, body, keyed }: Request): string {
  const headers = when(keyed, `, "Authorization": f"Bearer {os.environ['${KEY}']}"`);
  return `import json
${when(keyed, 'import os\n')}import urllib.request

body = {
${members(body, pythonLiteral, '    ')}
}
request = urllib.request.Request(
    ${JSON.stringify(url)},
    data=json.dumps(body).encode(),
    headers={"Content-Type": "application/json"${headers}},
)
with urllib.request.urlopen(request) as response:
    answer = json.load(response)
print(answer["result"])
`;
}

function javascript({ url, body, keyed }: Request): string {
  const headers = when(keyed, `, Authorization: \`Bearer \${process.env.${KEY}}\``);
  return `const response = await fetch(${JSON.stringify(url)}, {
  method: "POST",
  headers: { "Content-Type": "application/json"${headers} },
  body: JSON.stringify({
${members(body, (value) => JSON.stringify(value), '    ')}
  }),
});
const answer = await response.json();
if (!response.ok) throw new Error(answer.detail);
console.log(JSON.stringify(answer.result));
`;
}

/** A raw string of R: dashes until the text does not close it. */
function rRaw(text: string): string {
  let dashes = '---';
  while (text.includes(`)${dashes}"`)) dashes += '-';
  return `r"${dashes}(${text})${dashes}"`;
}

function r({ url, body, keyed }: Request): string {
  return `library(httr2)

body <- ${rRaw(JSON.stringify(body))}
answer <- request(${JSON.stringify(url)}) |>
${when(keyed, `  req_auth_bearer_token(Sys.getenv("${KEY}")) |>\n`)}  req_body_raw(body, type = "application/json") |>
  req_perform() |>
  resp_body_json(simplifyVector = TRUE)
print(answer$result)
`;
}

/** A raw string of Julia: only backslashes before a quote, and the quote, are escaped. */
function juliaRaw(text: string): string {
  return `raw"${text.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, '$1$1')}"`;
}

function julia({ url, body, keyed }: Request): string {
  const headers = when(keyed, `, "Authorization" => "Bearer $(ENV["${KEY}"])"`);
  return `using HTTP, JSON

body = ${juliaRaw(JSON.stringify(body))}
response = HTTP.post(${JSON.stringify(url)}, ["Content-Type" => "application/json"${headers}], body)
println(JSON.parse(String(response.body))["result"])
`;
}

function go({ url, body, keyed }: Request): string {
  const text = JSON.stringify(body).replaceAll('`', '\\u0060');
  return `package main

import (
	"encoding/json"
	"fmt"
	"net/http"
${when(keyed, '\t"os"\n')}	"strings"
)

func main() {
	body := strings.NewReader(\`${text}\`)
	request, err := http.NewRequest("POST", ${JSON.stringify(url)}, body)
	if err != nil {
		panic(err)
	}
	request.Header.Set("Content-Type", "application/json")
${when(keyed, `\trequest.Header.Set("Authorization", "Bearer "+os.Getenv("${KEY}"))\n`)}	response, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	var answer map[string]any
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		panic(err)
	}
	if response.StatusCode != http.StatusOK {
		panic(answer["detail"])
	}
	fmt.Println(answer["result"])
}
`;
}

const WRITERS: Record<SnippetLanguage, (request: Request) => string> = {
  curl, Python: python, JavaScript: javascript, R: r, Julia: julia, Go: go,
};

/** A request as code; `keyed` where the server wants a key. */
export function snippet(language: SnippetLanguage, request: Request): string {
  return WRITERS[language](request);
}
