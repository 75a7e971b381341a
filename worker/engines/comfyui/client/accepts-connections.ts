import net from "node:net";
import type { ComfyServer } from "./comfy-server.ts";
import { httpEndpoint } from "./endpoint.ts";

const timeoutMs = 1_500;

/** Whether something listens at the server's address: a server whose work holds up its answers still does. */
export function acceptsConnections(server: ComfyServer): Promise<boolean> {
  const { hostname, port, protocol } = new URL(httpEndpoint(server, { path: "" }).url);
  const target = {
    // An IPv6 address stands in brackets.
    host: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port) || (protocol === "https:" ? 443 : 80),
  };
  return new Promise((resolve) => {
    const socket = net.connect(target);
    const end = (isAccepted: boolean) => {
      socket.destroy();
      resolve(isAccepted);
    };
    socket.setTimeout(timeoutMs, () => end(false));
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
  });
}
