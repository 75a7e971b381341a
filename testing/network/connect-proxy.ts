import { createServer, request as httpRequest } from "node:http";
import { connect, type AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

/** A forward proxy of a network, for tests alone: each way leads to one server of the test, whatever name was asked for. */
export interface ConnectProxy {
  readonly url: string;
  /** What was asked for: `CONNECT host:port`, or the method with the whole address. */
  readonly asked: string[];
  /** `Proxy-Authorization` of each. */
  readonly authorizations: (string | undefined)[];
  /** Answers each CONNECT with this status instead. */
  refusal: number | null;
  close(): Promise<void>;
}

/** Starts a proxy on a free port of 127.0.0.1 that leads to the port. */
export async function startConnectProxy(toPort: number): Promise<ConnectProxy> {
  const server = createServer((request, response) => {
    note(`${request.method} ${request.url}`, request.headers["proxy-authorization"]);
    const { pathname, search } = new URL(request.url ?? "/", "http://none");
    const { method, headers } = request;
    const at = { host: "127.0.0.1", port: toPort, path: `${pathname}${search}`, method, headers };
    const onward = httpRequest(at, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    request.pipe(onward);
  });
  // The server itself forgets a socket that became a way.
  const ways = new Set<Duplex>();
  server.on("connect", (request, client) => {
    ways.add(client);
    client.once("close", () => ways.delete(client));
    note(`CONNECT ${request.url}`, request.headers["proxy-authorization"]);
    client.on("error", () => client.destroy());
    if (proxy.refusal !== null) return void client.end(`HTTP/1.1 ${proxy.refusal} No\r\n\r\n`);
    const onward = connect(toPort, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      client.pipe(onward).pipe(client);
    });
    onward.on("error", () => client.destroy());
    client.once("close", () => onward.destroy());
  });
  const note = (asked: string, authorization: string | undefined) => {
    proxy.asked.push(asked);
    proxy.authorizations.push(authorization);
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const proxy: ConnectProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: [],
    authorizations: [],
    refusal: null,
    async close() {
      for (const way of ways) way.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}
