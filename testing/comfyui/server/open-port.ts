import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

/** A port of 127.0.0.1 that can be closed and opened again. */
export interface Port {
  readonly port: number;
  open(): Promise<void>;
  /** Breaks every connection and refuses new ones. */
  close(): Promise<void>;
}

export interface PortHandlers {
  request(request: IncomingMessage, response: ServerResponse): Promise<void>;
  upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void;
}

/** Listens; 0 takes a free port. */
export async function openPort(wanted: number, handlers: PortHandlers): Promise<Port> {
  const streams = new Set<Duplex>();
  let server = await listen(makeServer(handlers, streams), wanted);
  const address = server.address();
  if (!isAddress(address)) throw new Error("the simulator listens on no port");
  const { port } = address;
  return {
    port,
    open: async () => {
      server = await listen(makeServer(handlers, streams), port);
    },
    close: async () => {
      for (const stream of streams) stream.destroy();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
}

function makeServer(handlers: PortHandlers, streams: Set<Duplex>): Server {
  const server = createServer((request, response) => {
    // A broken handler looks like a broken server.
    handlers.request(request, response).catch(() => request.socket.destroy());
  });
  server.on("connection", (stream) => {
    streams.add(stream);
    stream.once("close", () => streams.delete(stream));
  });
  server.on("upgrade", (request, stream, head) => {
    // From here on nobody else listens for it: a client that resets the connection would end the process.
    stream.on("error", () => stream.destroy());
    handlers.upgrade(request, stream, head);
  });
  return server;
}

function listen(server: Server, port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}

function isAddress(address: string | AddressInfo | null): address is AddressInfo {
  return typeof address === "object" && address !== null;
}
