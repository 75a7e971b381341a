import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createBells } from "./bells.ts";

let server: Server;
let url: string;

/** Answers a login, then cuts at the first statement: where BullMQ begins, before it listens. */
function cutAfterLogin(socket: Socket): void {
  const authenticated = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0]);
  const ready = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);
  socket.on("error", () => undefined);
  socket.once("data", () => {
    socket.write(Buffer.concat([authenticated, ready]));
    socket.once("data", () => socket.destroy());
  });
}

beforeAll(async () => {
  server = createServer(cutAfterLogin).listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `postgres://atelier:secret@127.0.0.1:${(server.address() as AddressInfo).port}/atelier`;
});
afterAll(() => void server.close());

test("A3 a connection cut while the queue starts is an error of the ring, and never ends the process", async () => {
  const errors: Error[] = [];
  const bells = createBells({ backend: "postgres", url }, { onError: (error) => void errors.push(error) });
  await expect(bells.ring("cpu-light", [{ jobId: "one", attempt: 0, ring: 1 }])).rejects.toThrow(
    /terminated|ECONNRESET/,
  );
  expect(errors.length).toBeGreaterThan(0);
  await bells.close();
});
