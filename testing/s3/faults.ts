import { createServer, type IncomingMessage, request as send, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What the proxy does with requests of a method before the server sees them. */
export type S3Fault =
  /** 503 without a body. */
  | { readonly kind: "unavailable"; readonly method: string; readonly times: number }
  /** The request is answered as if the object had been stored; the server never gets it. */
  | { readonly kind: "lost-write"; readonly times: number };

/** A proxy in front of an S3 server that injects faults; signatures stay valid, since it passes the Host on. */
export interface FaultyS3 {
  readonly endpoint: string;
  inject(fault: S3Fault): void;
  /** Requests that it has seen, by method. */
  count(method: string): number;
  close(): Promise<void>;
}

function applies(fault: S3Fault, method: string): boolean {
  return fault.kind === "lost-write" ? method === "PUT" : fault.method === method;
}

function pass(endpoint: string, incoming: IncomingMessage, answer: ServerResponse): void {
  const { method, headers, url } = incoming;
  const outgoing = send(new URL(url ?? "/", endpoint), { method, headers }, (response) => {
    answer.writeHead(response.statusCode ?? 502, response.headers);
    response.pipe(answer);
  });
  outgoing.once("error", () => answer.destroy());
  incoming.pipe(outgoing);
}

function fail({ kind }: S3Fault, incoming: IncomingMessage, answer: ServerResponse): void {
  incoming.resume();
  if (kind === "unavailable") answer.writeHead(503, { "content-length": "0" }).end();
  else incoming.once("end", () => answer.writeHead(200, { etag: '"0"', "content-length": "0" }).end());
}

export async function startFaultyS3(endpoint: string): Promise<FaultyS3> {
  const faults: { fault: S3Fault; left: number }[] = [];
  const seen: string[] = [];
  const server = createServer((incoming, answer) => {
    const method = incoming.method ?? "";
    seen.push(method);
    const found = faults.find(({ fault, left }) => left > 0 && applies(fault, method));
    if (!found) return pass(endpoint, incoming, answer);
    found.left -= 1;
    fail(found.fault, incoming, answer);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    inject: (fault) => void faults.push({ fault, left: fault.times }),
    count: (method) => seen.filter((each) => each === method).length,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
