import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { handleProviderWebhook } from "@atelier/server/api";
import type { Services } from "@atelier/server/services";

/** The address at which providers report the ends of runs, as the pages serve it. */
export interface WebhookDoor {
  /** For `APP_URL`. */
  readonly url: string;
  /** Webhooks before are answered with 503. */
  open(services: Services): void;
  close(): Promise<void>;
}

/** Starts the door before the services, whose environment names it. */
export async function startWebhookDoor(): Promise<WebhookDoor> {
  let services: Services | null = null;
  const server = createServer((incoming, outgoing) => {
    const answer = async () => {
      const body = await buffer(incoming);
      if (!services) return void outgoing.writeHead(503).end();
      const request = new Request(new URL(incoming.url ?? "/", "http://127.0.0.1"), {
        method: incoming.method ?? "POST",
        headers: Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
        body: new Uint8Array(body),
      });
      const { status } = await handleProviderWebhook(services, request);
      outgoing.writeHead(status).end();
    };
    answer().catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    open(given) {
      services = given;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
