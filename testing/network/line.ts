import { createConnection, createServer, type AddressInfo, type Socket } from "node:net";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** What a line does with the bytes of one direction. */
interface Direction {
  /** Nothing passes; what was sent arrives when the line is well again, as after a loss of packets. */
  readonly isSilent?: boolean;
  readonly delayMs?: number;
  readonly bytesPerSecond?: number;
}

/** The state of a line. */
export interface LineState {
  /** Connections are cut and new ones refused. */
  readonly isCut?: boolean;
  readonly toServer?: Direction;
  readonly toClient?: Direction;
  /** Each connection is reset after so many bytes of an answer. */
  readonly resetAfterBytes?: number;
}

/** A TCP connection to a server whose quality a test sets. A SIMULATOR of a network, for tests alone. */
export interface Line {
  /** The address of the server, with the host and port of the line. */
  urlOf(address: string): string;
  /** Holds for open connections too. */
  set(state: LineState): void;
  /** As a router that lost its table: open connections are silent from now on, new ones are as the line is. */
  forget(): void;
  close(): Promise<void>;
}

const silent: Direction = { isSilent: true };
const pieceBytes = 512;
const pollMs = 20;

/** Passes bytes on as the state of the line says at that moment. */
async function* pass(
  source: Socket,
  read: () => Direction,
  onBytes: (count: number) => void = () => undefined,
): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    await sleep(read().delayMs ?? 0);
    let rest = chunk;
    // A source that has ended is destroyed too, but what it sent must still arrive.
    while (rest.length > 0 && (!source.destroyed || source.readableEnded)) {
      const { isSilent, bytesPerSecond } = read();
      if (isSilent) {
        await sleep(pollMs);
        continue;
      }
      const piece = bytesPerSecond === undefined ? rest : rest.subarray(0, pieceBytes);
      if (bytesPerSecond !== undefined) await sleep((piece.length * 1_000) / bytesPerSecond);
      rest = rest.subarray(piece.length);
      yield piece;
      onBytes(piece.length);
    }
  }
}

/** Opens a line to the server at this address, on a free port of 127.0.0.1. */
export async function openLine(address: string): Promise<Line> {
  const { hostname, port } = new URL(address);
  let state: LineState = {};
  const sockets = new Set<Socket>();
  const forgotten = new WeakSet<Socket>();
  const hold = (socket: Socket) => {
    sockets.add(socket);
    socket.setNoDelay(true).once("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
  };
  // The end of one side is passed on as its bytes are: a silent line does not answer it.
  const server = createServer({ allowHalfOpen: true }, (client) => {
    hold(client);
    if (state.isCut) return void client.resetAndDestroy();
    const upstream = createConnection({ port: Number(port), host: hostname, allowHalfOpen: true });
    hold(upstream);
    const read = (direction: "toServer" | "toClient") =>
      forgotten.has(client) ? silent : (state[direction] ?? {});
    let answered = 0;
    const count = (bytes: number) => {
      answered += bytes;
      if (state.resetAfterBytes !== undefined && answered > state.resetAfterBytes) client.resetAndDestroy();
    };
    // An end at either side ends the other; how it came about does not matter here.
    const there = pipeline(client, (source: Socket) => pass(source, () => read("toServer")), upstream);
    const back = pipeline(upstream, (source: Socket) => pass(source, () => read("toClient"), count), client);
    Promise.all([there, back]).catch(() => [client, upstream].forEach((each) => each.destroy()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const own = (server.address() as AddressInfo).port;
  return {
    urlOf(given) {
      const url = new URL(given);
      url.host = `127.0.0.1:${own}`;
      return url.href.replace(/\/$/, "");
    },
    set(next) {
      state = next;
      if (next.isCut) for (const socket of sockets) socket.resetAndDestroy();
    },
    forget() {
      for (const socket of sockets) forgotten.add(socket);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
