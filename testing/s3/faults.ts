import { createServer, type IncomingMessage, request as send, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What the proxy does with requests of a method before the server sees them. */
export type S3Fault =
  /** 503 without a body. */
  | { readonly kind: "unavailable"; readonly method: string; readonly times: number }
  /** The request is answered as if the object had been stored; the server never gets it. */
  | { readonly kind: "lost-write"; readonly times: number }
  /** The answer comes in chunks without its length, as some proxies send it on; `noRange`: without its place in the object, too. */
  | {
      readonly kind: "no-length";
      readonly method: string;
      readonly times: number;
      readonly noRange?: boolean;
    }
  /** A body without its sum is refused, as in a bucket that locks its objects. */
  | { readonly kind: "locked"; readonly times: number }
  /** The list of the bucket is behind its objects: each list has these keys alone, of five bytes each. */
  | { readonly kind: "stale-list"; readonly keys: readonly string[]; readonly times: number }
  /** Each list is answered by this body. */
  | { readonly kind: "odd-list"; readonly body: string; readonly times: number }
  /** A 404 comes with this body in place of the server's own: none, or a page; `ofAll`: for objects that are there, too. */
  | {
      readonly kind: "bare-404";
      readonly method: string;
      readonly times: number;
      readonly body: string;
      readonly ofAll?: boolean;
    };

/** A proxy in front of an S3 server that injects faults; signatures stay valid, since it passes the Host on. */
export interface FaultyS3 {
  readonly endpoint: string;
  /** The last one that applies counts. */
  inject(fault: S3Fault): void;
  /** Requests that it has seen, by method. */
  count(method: string): number;
  close(): Promise<void>;
}

const isList = (url = "") => url.includes("list-type=");

function applies(fault: S3Fault, { method = "", url, headers }: IncomingMessage): boolean {
  const hasSum = Object.keys(headers).some((name) => /^content-md5$|^x-amz-checksum-/.test(name));
  if (fault.kind === "locked") return method === "PUT" && !hasSum;
  if (fault.kind === "stale-list" || fault.kind === "odd-list") return isList(url);
  return fault.kind === "lost-write" ? method === "PUT" : fault.method === method;
}

/** Whether an object that is there is hidden; it is listed all the same. */
const hides = ({ ofAll = false }: { readonly ofAll?: boolean }, url = "") => ofAll && !isList(url);

function pass(endpoint: string, incoming: IncomingMessage, answer: ServerResponse, fault?: S3Fault): void {
  const { method, headers, url } = incoming;
  const noRange = fault?.kind === "no-length" && fault.noRange;
  const outgoing = send(new URL(url ?? "/", endpoint), { method, headers }, (response) => {
    if (fault?.kind === "bare-404" && (response.statusCode === 404 || hides(fault, url))) {
      response.resume();
      answer.writeHead(404, { "content-type": "text/html" }).end(fault.body);
      return;
    }
    const { "content-length": length, "content-range": place, ...others } = response.headers;
    const kept = {
      ...(fault?.kind === "no-length" || length === undefined ? {} : { "content-length": length }),
      ...(noRange || place === undefined ? {} : { "content-range": place }),
    };
    answer.writeHead(response.statusCode ?? 502, { ...others, ...kept });
    response.pipe(answer);
  });
  outgoing.once("error", () => answer.destroy());
  incoming.pipe(outgoing);
}

function fail(fault: S3Fault, incoming: IncomingMessage, answer: ServerResponse): void {
  const { kind } = fault;
  incoming.resume();
  if (kind === "stale-list")
    answer.writeHead(200, { "content-type": "application/xml" }).end(listOf(fault.keys));
  else if (kind === "odd-list") answer.writeHead(200, { "content-type": "application/xml" }).end(fault.body);
  else if (kind === "locked")
    incoming.once("end", () => answer.writeHead(400, { "content-type": "application/xml" }).end(noSum));
  else if (kind === "unavailable") answer.writeHead(503, { "content-length": "0" }).end();
  else incoming.once("end", () => answer.writeHead(200, { etag: '"0"', "content-length": "0" }).end());
}

const noSum = `<?xml version="1.0"?><Error><Code>InvalidRequest</Code><Message>Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests with Object Lock parameters</Message></Error>`;

/** The answer to a list; `rest` is what it says of further parts. */
export function listOf(keys: readonly string[], rest = "<IsTruncated>false</IsTruncated>"): string {
  const of = (key: string) =>
    `<Contents><Key>${key}</Key><Size>5</Size><LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>`;
  return `<?xml version="1.0"?><ListBucketResult>${rest}${keys.map(of).join("")}</ListBucketResult>`;
}

export async function startFaultyS3(endpoint: string): Promise<FaultyS3> {
  const faults: { fault: S3Fault; left: number }[] = [];
  const seen: string[] = [];
  const server = createServer((incoming, answer) => {
    const method = incoming.method ?? "";
    seen.push(method);
    const found = faults.find(({ fault, left }) => left > 0 && applies(fault, incoming));
    if (!found) return pass(endpoint, incoming, answer);
    found.left -= 1;
    const { fault } = found;
    if (fault.kind === "no-length" || fault.kind === "bare-404")
      return pass(endpoint, incoming, answer, fault);
    fail(fault, incoming, answer);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    inject: (fault) => void faults.unshift({ fault, left: fault.times }),
    count: (method) => seen.filter((each) => each === method).length,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
