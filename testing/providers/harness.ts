import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import sharp from "sharp";
import type {
  PictureFault,
  PictureForm,
  ProviderFault,
  Refusal,
  SimAnswer,
  Simulator,
  SimRequest,
  SimRun,
  Vendor,
} from "./port.ts";

const maxBodyBytes = 32 * 1024 ** 2;

export async function startSimulator(vendor: Vendor, port = 0): Promise<Simulator> {
  const made = await sharp({ create: { width: 96, height: 128, channels: 3, background: "#7a5c8e" } })
    .png()
    .toBuffer();
  const timers = new Set<NodeJS.Timeout>();
  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const simulator: Simulator = {
    name: vendor.name,
    origin,
    runs: new Map(),
    submits: [],
    calls: [],
    left: 0,
    fault: null,
    getFault: null,
    pictureFault: null,
    heldUpload: null,
    heldAnswers: null,
    uploadFault: null,
    uploads: 0,
    fetches: 0,
    end: "succeeded",
    isResultGone: false,
    generation: "new",
    isHttpsOnly: false,
    reportedEvents: null,
    runMs: 20,
    delayMs: 0,
    webhooks: 1,
    start({ idempotencyKey = null, events = null, ...run }) {
      const known = [...simulator.runs.values()].find(
        (one) => idempotencyKey !== null && one.idempotencyKey === idempotencyKey,
      );
      if (known) return known;
      const started: SimRun = {
        ...run,
        id: randomUUID(),
        idempotencyKey,
        events,
        createdAt: new Date(),
        state: "queued",
      };
      simulator.runs.set(started.id, started);
      if (simulator.end !== "never") {
        const timer = setTimeout(() => {
          timers.delete(timer);
          if (simulator.end !== "never") simulator.finish(started, simulator.end);
        }, simulator.runMs);
        timers.add(timer);
      }
      return started;
    },
    finish(run, state) {
      if (run.state !== "queued" && run.state !== "running") return;
      run.state = state;
      for (let count = 0; count < simulator.webhooks; count += 1) void simulator.report(run).catch(() => 0);
    },
    pictureOrigin: origin,
    pictureForm: "address",
    pictureText: (run) =>
      textOf(simulator.pictureForm, made, `${simulator.pictureOrigin}/sim-pictures/${run.id}.png`),
    picture: () => Promise.resolve(made),
    async report(run) {
      const { webhookUrl } = run;
      if (webhookUrl === null) return;
      for (const { body, headers } of vendor.webhooks?.(simulator, run) ?? []) {
        const { status } = await fetch(webhookUrl, {
          method: "POST",
          headers: { "content-type": "application/json", ...headers },
          body,
          signal: AbortSignal.timeout(60_000),
        });
        simulator.reported.push(status);
      }
    },
    reported: [],
    charged: () =>
      [...simulator.runs.values()].filter(({ state }) => state === "succeeded" || state === "flagged"),
    async close() {
      for (const timer of timers) clearTimeout(timer);
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", origin);
    const raw = await readBody(request);
    if (url.pathname.startsWith("/sim-pictures/")) return answerPicture(response);
    const read: SimRequest = {
      method: request.method ?? "GET",
      url,
      headers: request.headers,
      raw,
      json: parse(raw),
    };
    simulator.calls.push(`${read.method} ${url.pathname}`);
    return isFreeCall(read) ? send(response, answerFreely(read)) : answerCall(read, response);
  }

  async function answerCall(read: SimRequest, response: ServerResponse): Promise<void> {
    const isSubmit = vendor.isSubmit(read);
    const faultNow = () => (isSubmit ? simulator.fault : simulator.getFault);
    // At once: whoever leaves while the call is being noted has left, too.
    noteLeaving(response, faultNow());
    if (isSubmit) await noteSubmit(read);
    const fault = faultNow();
    const refusal = fault === null ? null : (pageOf(fault) ?? refusalOf(fault));
    if (refusal) return send(response, fault === "auth" ? withKey(refusal, read) : refusal);
    if (fault === "flood") return flood(response);
    if (fault !== "hang") await take(read, response, fault);
  }

  /** Account, credits or models: whoever has the key may ask, and pays nothing. */
  function answerFreely({ headers }: SimRequest): SimAnswer {
    const hasKey = JSON.stringify(headers).includes(`canary-key-of-${vendor.name}`);
    return hasKey
      ? { status: 200, json: { code: 200, data: 12, credits: { total: 12 } } }
      : { status: 401, json: { detail: "Unauthenticated", error: { message: "Unauthenticated" } } };
  }

  async function take(request: SimRequest, response: ServerResponse, fault: ProviderFault | null) {
    const result = await vendor.handle(simulator, request);
    if (vendor.isSubmit(request)) await Promise.all([sleep(simulator.delayMs), simulator.heldAnswers]);
    sendUnless(fault, response, result);
  }

  async function answerPicture(response: ServerResponse): Promise<void> {
    simulator.fetches += 1;
    await sleep(simulator.delayMs);
    sendPicture(response, made, simulator.pictureFault);
  }

  function noteLeaving(response: ServerResponse, fault: ProviderFault | null): void {
    response.once("close", () => {
      if (fault !== "drop" && fault !== "cut" && !response.writableFinished) simulator.left += 1;
    });
  }

  function refusalOf(fault: ProviderFault): SimAnswer | null {
    return isRefusal(fault) ? vendor.refusal(fault, simulator) : null;
  }

  async function noteSubmit(request: SimRequest): Promise<void> {
    await sleep(simulator.delayMs);
    // A caller that died has sent a whole request all the same.
    simulator.submits.push(request);
  }

  return simulator;
}

const isFreeCall = ({ method, url }: SimRequest) => method === "GET" && freePaths.test(url.pathname);
const freePaths = /\/(account|models|credits|chat\/credit)$/;

function textOf(form: PictureForm, bytes: Buffer, address: string): string {
  switch (form) {
    case "address":
      return address;
    case "data uri":
      return `data:image/png;base64,${bytes.toString("base64")}`;
    case "percent-encoded":
      return `data:image/png,${[...bytes].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("")}`;
    case "base64":
      return bytes.toString("base64");
    case "base64 with a prefix":
      return `image/png;base64,${bytes.toString("base64")}`;
  }
}

function isRefusal(fault: ProviderFault): fault is Refusal {
  return ["rate", "quota", "auth", "credit", "busy", "input"].includes(fault);
}

/** Answers of what stands between a caller and the provider. */
function pageOf(fault: ProviderFault): SimAnswer | null {
  if (fault === "refuse")
    return { status: 503, json: { detail: "Service unavailable", error: { message: "overloaded" } } };
  if (fault === "gateway") return { status: 502, headers: { "content-type": "text/html" } };
  if (fault === "garbage") return { status: 200, headers: { "content-type": "text/html" } };
  return fault === "redirect" ? { status: 307, headers: { location: "/elsewhere" } } : null;
}

function send(response: ServerResponse, { status, json, headers = {} }: SimAnswer): void {
  if (json === undefined) response.writeHead(status, headers).end("<html><body>Welcome</body></html>");
  else
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(json));
}

/** Sends as much as the caller takes. */
async function flood(response: ServerResponse): Promise<void> {
  const part = Buffer.alloc(1024 ** 2, " ");
  const left = new Promise((resolve) => response.once("close", resolve));
  response.writeHead(200, { "content-type": "application/json" });
  while (!response.destroyed)
    if (!response.write(part))
      await Promise.race([left, new Promise((resolve) => response.once("drain", resolve))]);
}

/** The answer to a call that was taken. */
function sendUnless(fault: ProviderFault | null, response: ServerResponse, result: SimAnswer): void {
  if (fault === "drop") response.destroy();
  else if (fault === "cut") sendWithoutEnd(response, result);
  else if (fault !== "mute") send(response, result);
}

function sendWithoutEnd(response: ServerResponse, { status, json, headers = {} }: SimAnswer): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.write(JSON.stringify(json), () => response.destroy());
}

/** Some servers repeat the key that they refuse. */
function withKey(refusal: SimAnswer, { headers }: SimRequest): SimAnswer {
  const { authorization, "x-goog-api-key": key } = headers;
  return { ...refusal, json: { refused: authorization ?? key, ...Object(refusal.json) } };
}

function sendPicture(response: ServerResponse, bytes: Buffer, fault: PictureFault | null): void {
  if (fault === "hang") return;
  if (fault === "refuse") return void response.writeHead(503).end();
  if (fault === "garbage") return void response.writeHead(200).end("<html><body>Welcome</body></html>");
  response.writeHead(200, { "content-type": "image/png", "content-length": bytes.length });
  if (fault === "half") response.write(bytes.subarray(0, bytes.length / 2));
  else response.end(bytes);
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > maxBodyBytes) throw new Error("too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parse(raw: Buffer): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(raw.toString("utf8"));
  } catch {
    return {};
  }
}
