import { randomBytes } from "node:crypto";
import { feedOf } from "../../live/index.ts";
import { isFinal, jobSource, type JobView } from "../../jobs/index.ts";
import { AppError, type Holder, keptBy, streamMs, takePlace } from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { iopaintError } from "./iopaint-info.ts";
import type { ClientApi, ClientInput, ClientRoute } from "./route.ts";

/**
 * The progress of IOPaint's page: Socket.IO 5 over Engine.IO 4, by long polls alone, for two events. The servers of that project
 * answer requests of Node's own HTTP server, or of Bun; these come as `Request`s, also in functions.
 *
 *     GET ──▶ open ──POST "40"──▶ connected ──GET, GET, …──▶ `diffusion_progress`, `diffusion_finish`
 */
interface Session {
  readonly ownerId: string;
  readonly packets: string[];
  isConnected: boolean;
  /** Ends the poll that waits. */
  wake: (() => void) | null;
  end(): void;
  /** Adds a packet where there is room, and wakes the poll that waits. */
  push(packet: string): void;
  /** Begins its time again. */
  touch(): void;
}

const pingMs = 25_000;
const limits = { ofOwner: 8, idleMs: 60_000, bodyBytes: 100_000, packets: 100 } as const;

/** Of this process: several web processes need a proxy that sends a session to one of them. */
const sessionsOf = keptBy(
  () => new Map<string, Session>(),
  (sessions) => {
    for (const session of sessions.values()) session.end();
  },
);

/** A session takes the place of a stream until it ends, since its polls wait one after the other. */
function openSession(services: Services, holder: Holder): string {
  const ownerId = holder.userId;
  const sessions = sessionsOf(services);
  const own = [...sessions].filter(([, session]) => session.ownerId === ownerId);
  for (const [, oldest] of own.slice(0, Math.max(0, own.length - limits.ofOwner + 1))) oldest.end();
  const giveBack = takePlace(services, "stream", holder);
  const id = randomBytes(15).toString("base64url");
  const stepsById = new Map<string, number>();
  const send = (event: string, ...data: readonly unknown[]) =>
    session.push(`42${JSON.stringify([event, ...data])}`);
  const noteJob = ({ kind, status, id: jobId, params }: JobView) => {
    if (kind !== "inpaint") return;
    if (!isFinal(status)) stepsById.set(jobId, Number(params["steps"] ?? 0));
    else if (stepsById.delete(jobId)) send("diffusion_finish");
  };
  const remove = feedOf(services).add(jobSource, {
    ownerId,
    wantsLive: true,
    end: () => session.end(),
    push: (event) => {
      if (event.type === "rows") for (const { view } of event.rows) noteJob(view);
      else if (event.update.type === "progress") {
        const steps = stepsById.get(event.id) ?? 0;
        if (steps > 0) send("diffusion_progress", { step: Math.round(steps * event.update.progress) - 1 });
      }
    },
  });
  const timer = setTimeout(() => session.end(), limits.idleMs).unref();
  const session: Session = {
    ownerId,
    packets: [],
    isConnected: false,
    wake: null,
    push(packet) {
      if (session.packets.length < limits.packets) session.packets.push(packet);
      session.wake?.();
    },
    touch: () => timer.refresh(),
    end() {
      clearTimeout(timer);
      remove();
      giveBack();
      sessions.delete(id);
      session.wake?.();
    },
  };
  sessions.set(id, session);
  return id;
}

const refusals = ["Transport unknown", "Session ID unknown", "Bad handshake method", "Bad request"] as const;

/** As Engine.IO answers; its clients then begin anew. */
function refuse(message: (typeof refusals)[number]): Response {
  return Response.json({ code: refusals.indexOf(message), message }, { status: 400 });
}

const textResponse = (text: string) =>
  new Response(text, {
    headers: { "content-type": "text/plain; charset=UTF-8", "cache-control": "no-store" },
  });

function findSession({ services, caller, query }: ClientInput): Session | null {
  const session = sessionsOf(services).get(query["sid"] ?? "");
  return session?.ownerId === caller.userId ? session : null;
}

/** GET socket.io: opens a session, or waits for packets of one. */
const pollRoute: ClientRoute = {
  method: "get",
  path: "/socket.io",
  operationId: "iopaintSocketPoll",
  async handle(input) {
    const { services, caller, query, request } = input;
    if (query["transport"] !== "polling" || query["EIO"] !== "4") return refuse("Transport unknown");
    if (request.method === "HEAD") return textResponse("");
    if (query["sid"] === undefined) {
      const sid = openSession(services, caller);
      const times = { pingInterval: pingMs, pingTimeout: 20_000, maxPayload: limits.bodyBytes };
      return textResponse(`0${JSON.stringify({ sid, upgrades: [], ...times })}`);
    }
    const session = findSession(input);
    if (!session) return refuse("Session ID unknown");
    if (session.wake) {
      session.end();
      return refuse("Bad request");
    }
    session.touch();
    if (session.packets.length === 0) await waitForPacket(input, session);
    const packets = session.packets.splice(0);
    return textResponse(packets.length > 0 ? packets.join("\u001E") : "2");
  },
};

/** Until a packet, the time of a ping, the end of the session, or until the page leaves. */
async function waitForPacket({ services, request }: ClientInput, session: Session): Promise<void> {
  await new Promise<void>((resolve) => {
    const wake = () => {
      clearTimeout(timer);
      request.signal.removeEventListener("abort", wake);
      session.wake = null;
      resolve();
    };
    const timer = setTimeout(wake, Math.min(pingMs, streamMs(services.env)));
    request.signal.addEventListener("abort", wake, { once: true });
    session.wake = wake;
  });
}

/** POST socket.io: the page connects, answers a ping or leaves. */
const sendRoute: ClientRoute = {
  method: "post",
  path: "/socket.io",
  operationId: "iopaintSocketSend",
  right: "read",
  async handle(input) {
    const session = findSession(input);
    if (!session) return refuse("Session ID unknown");
    if (Number(input.request.headers.get("content-length") ?? limits.bodyBytes + 1) > limits.bodyBytes)
      throw new AppError("bad_request", "A packet has a length, of at most 100 kB.");
    session.touch();
    for (const packet of (await input.request.text()).split("\u001E")) {
      if (packet === "1" || packet === "41") session.end();
      if (!packet.startsWith("40") || session.isConnected) continue;
      session.isConnected = true;
      session.push(`40${JSON.stringify({ sid: randomBytes(15).toString("base64url") })}`);
    }
    return textResponse("ok");
  },
};

/** Beside `api/v1`, where IOPaint's page looks for it. */
export const iopaintSocketApi: ClientApi = {
  routes: [pollRoute, sendRoute],
  isSwitched: false,
  errorResponse: iopaintError,
};
