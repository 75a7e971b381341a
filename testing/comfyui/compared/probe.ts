import http from "node:http";
import { parseJson } from "../json.ts";

/** One request and what it is called in the fixture. */
export interface Probe {
  /** "POST /queue". */
  readonly call: string;
  /** What tells it from others of the same call; its body and headers by default. */
  readonly title?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as it is. */
  readonly body?: string | Uint8Array;
}

/** What is compared of an answer; headers that are not there are left out. */
export type Answered = Record<string, unknown>;

const comparedHeaders = ["content-type", "content-disposition", "content-range", "accept-ranges", "allow"];
const longestText = 200;

/** Asks a server, real or simulated; `fetch` would add headers of its own and follow redirects. */
export function askProbe(url: string, probe: Probe): Promise<Answered> {
  const [method = "GET", path = "/"] = probe.call.split(" ");
  const headers: Record<string, string> = { ...probe.headers };
  if (probe.json !== undefined) headers["content-type"] = "application/json";
  const body = probe.json === undefined ? probe.body : JSON.stringify(probe.json);
  return new Promise((resolve, reject) => {
    const request = http.request(url + path, { method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.once("error", reject);
      response.once("end", () => resolve(describe(response, Buffer.concat(chunks))));
    });
    request.once("error", reject);
    request.end(body);
  });
}

function describe({ statusCode, headers }: http.IncomingMessage, body: Buffer): Answered {
  const found: Answered = { status: statusCode };
  for (const name of comparedHeaders) if (headers[name] !== undefined) found[name] = headers[name];
  const text = body.toString();
  const type = headers["content-type"] ?? "";
  if (type.includes("json")) found.json = parseJson(text);
  else if (!type.startsWith("image/")) found.text = text.slice(0, longestText);
  return found;
}
