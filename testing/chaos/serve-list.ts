import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A list of servers over HTTP, as a deployment publishes it. */
export interface ServedList {
  readonly url: string;
  set(urls: readonly string[]): void;
  /** How often it was answered that nothing has changed. */
  unchanged(): number;
  close(): Promise<void>;
}

export async function serveList(): Promise<ServedList> {
  let body = toBody([]);
  let unchanged = 0;
  const server = createServer((request, response) => {
    const etag = `"${createHash("sha256").update(body).digest("hex")}"`;
    if (request.headers["if-none-match"] === etag) {
      unchanged += 1;
      response.writeHead(304, { etag }).end();
    } else {
      response.writeHead(200, { etag, "content-type": "application/json" }).end(body);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/backends.json`,
    set: (urls) => (body = toBody(urls)),
    unchanged: () => unchanged,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function toBody(urls: readonly string[]): string {
  return JSON.stringify({ version: 1, servers: urls.map((url) => ({ url })) });
}
