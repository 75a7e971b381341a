import { createConnection, createServer, type AddressInfo, type Socket } from "node:net";

/** Stands between a browser and the web process, to cut what goes through. */
export interface Proxy {
  readonly port: number;
  /** Cuts every connection; new ones are let through at once. */
  cut(): void;
  close(): Promise<void>;
}

export async function startProxy(targetPort: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    // Whoever is cut off sees it at its own end.
    socket.on("error", () => socket.destroy());
    socket.once("close", () => sockets.delete(socket));
  };
  const server = createServer((near) => {
    const far = createConnection(targetPort, "127.0.0.1");
    for (const socket of [near, far]) keep(socket);
    near.pipe(far).pipe(near);
    near.once("close", () => far.destroy());
    far.once("close", () => near.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    // Safe: a server that listens on a port has this kind of address.
    port: (server.address() as AddressInfo).port,
    cut,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      await closed;
    },
  };
}
