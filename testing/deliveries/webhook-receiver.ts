import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

/** What a receiver does instead of answering 204 at once. */
export type WebhookFault =
  | { readonly kind: "status"; readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  /** Sends an answer without an end, one byte after the other. */
  | { readonly kind: "slow" }
  /** Never answers. */
  | { readonly kind: "hang" }
  /** Takes the request and cuts the connection. */
  | { readonly kind: "reset" }
  /** Answers only after `release`. */
  | { readonly kind: "hold" };

interface ReceivedWebhook {
  readonly path: string;
  readonly id: string;
  readonly at: Date;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export interface WebhookReceiver {
  readonly url: string;
  /** Every request whose body has arrived, in this order. */
  readonly received: readonly ReceivedWebhook[];
  /** How long it takes to answer. */
  delayMs: number;
  /** Number of requests that carried the id. */
  countOf(id: string): number;
  /** The next requests to the path meet these faults, one each; with `isForever` the last one stays. */
  inject(path: string, faults: readonly WebhookFault[], options?: { readonly isForever?: boolean }): void;
  /** Answers the requests that a `hold` keeps. */
  release(): void;
  close(): Promise<void>;
}

export interface WebhookReceiverOptions {
  /** Any that is free by default. */
  readonly port?: number;
  onReceived?(webhook: ReceivedWebhook): void;
}

const dripMs = 50;

/** Starts a receiver; a fault is one of a path, so that one receiver stands for several. */
export async function startWebhookReceiver(options: WebhookReceiverOptions = {}): Promise<WebhookReceiver> {
  const received: ReceivedWebhook[] = [];
  const faults = new Map<string, { list: WebhookFault[]; isForever: boolean }>();
  const held = new Set<ServerResponse>();
  const drips = new Set<NodeJS.Timeout>();
  const takeFault = (path: string) => {
    const own = faults.get(path);
    if (!own) return null;
    return own.isForever && own.list.length === 1 ? (own.list[0] ?? null) : (own.list.shift() ?? null);
  };
  const drip = (response: ServerResponse) => {
    response.writeHead(200).flushHeaders();
    const timer = setInterval(() => response.write("."), dripMs);
    drips.add(timer);
    response.on("close", () => {
      clearInterval(timer);
      drips.delete(timer);
    });
  };
  const answer = (request: IncomingMessage, response: ServerResponse, fault: WebhookFault | null) => {
    switch (fault?.kind) {
      case undefined:
        return void response.writeHead(204).end();
      case "status":
        return void response.writeHead(fault.status, { ...fault.headers }).end("not for the sender's eyes");
      case "slow":
        return drip(response);
      case "reset":
        return void request.socket.resetAndDestroy();
      case "hold":
        return void held.add(response);
      case "hang":
        return;
    }
  };
  const server = createServer((request, response) => {
    void buffer(request).then(
      (body) => {
        const path = request.url ?? "";
        const id = String(request.headers["webhook-id"] ?? "");
        const webhook = { path, id, at: new Date(), headers: request.headers, body: body.toString() };
        received.push(webhook);
        options.onReceived?.(webhook);
        const fault = takeFault(path);
        if (receiver.delayMs === 0) answer(request, response, fault);
        else setTimeout(() => answer(request, response, fault), receiver.delayMs);
      },
      () => undefined,
    );
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${port}`,
    received,
    delayMs: 0,
    countOf: (id) => received.filter((one) => one.id === id).length,
    inject(path, list, { isForever = false } = {}) {
      faults.set(path, { list: [...list], isForever });
    },
    release() {
      for (const response of held) response.writeHead(204).end();
      held.clear();
    },
    close: () =>
      new Promise((resolve) => {
        for (const timer of drips) clearInterval(timer);
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return receiver;
}
