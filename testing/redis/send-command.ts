import { createConnection } from "node:net";

/** Sends one inline command to a local Redis and resolves with the start of its raw answer. */
export function sendCommand(port: number, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(port, "127.0.0.1", () => socket.write(`${command}\r\n`));
    socket.once("error", reject);
    socket.once("data", (data) => {
      socket.destroy();
      resolve(data.toString());
    });
  });
}
