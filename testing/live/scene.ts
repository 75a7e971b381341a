import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createConnection, createServer, type Socket } from "node:net";
import {
  cancel,
  claim,
  complete,
  confirmCancel,
  fail,
  type Job,
  type JobsUpdate,
  type JobView,
  type Lease,
  persistProgress,
  start,
} from "@atelier/server/jobs";
import { AppError, originOf } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import { createLiveStore, type LiveStore } from "../../app/live/store.ts";
import { keepStream, type OpenStream } from "../../app/live/stream.ts";
import { findFreePort, waitUntil } from "../../scripts/process/tools.ts";
import { addJob, localOffers, type TestOwner, testQueue } from "../jobs/index.ts";
import { findProgram, killAtExit, type NodeRun, runNode } from "../processes/index.ts";
import { processEnv } from "../worker/index.ts";

/** Stands between a browser and the web process, to cut what goes through. */
export interface Proxy {
  readonly port: number;
  /** Cuts every connection; new ones are let through at once. */
  cut(): void;
  /** Leads new connections to another process. */
  turnTo(targetPort: number): void;
  close(): Promise<void>;
}

export async function startProxy(firstPort: number): Promise<Proxy> {
  let targetPort = firstPort;
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
    turnTo: (port) => void (targetPort = port),
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      await closed;
    },
  };
}

/** A proxy that gathers each answer and gives it out at its end, as quick tunnels of Cloudflare and some virus scanners do. */
export async function startGatheringProxy(targetPort: number): Promise<Pick<Proxy, "port" | "close">> {
  const server = createHttpServer((near, answer) => {
    const left = new AbortController();
    answer.once("close", () => left.abort());
    const { cookie = "" } = near.headers;
    fetch(`http://127.0.0.1:${targetPort}${near.url}`, { headers: { cookie }, signal: left.signal })
      .then(async (far) => {
        const body = Buffer.from(await far.arrayBuffer());
        answer.writeHead(far.status, { "content-type": far.headers.get("content-type") ?? "" }).end(body);
      })
      .catch(() => answer.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    // Safe: a server that listens on a port has this kind of address.
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A web process of its own over the given services' database and queue. */
export interface TestWeb {
  /** Stays the same over restarts. */
  readonly port: number;
  /** kill -9, and a new one; returns once that listens. */
  restart(): Promise<void>;
  kill9(): Promise<void>;
  /** SIGTERM; returns once it has ended. */
  term(): Promise<void>;
  /** SIGSTOP, and SIGCONT: as a platform of functions does between requests. */
  stop(): void;
  cont(): void;
}

export async function startWeb(services: Pick<Services, "env">): Promise<TestWeb> {
  const port = await findFreePort();
  const launch = async (): Promise<NodeRun> => {
    const run = runNode(await findProgram("testing/live/main.ts"), {
      ...processEnv(services),
      PORT: String(port),
      // By which cookies and origins are known: browsers of tests sign in to the services.
      APP_URL: originOf(services.env),
    });
    killAtExit(run.child);
    await run.seen(/web listens/);
    return run;
  };
  let run = await launch();
  const kill9 = async () => {
    run.child.kill("SIGKILL");
    await run.ended;
  };
  return {
    port,
    kill9,
    term: async () => {
      run.child.kill("SIGTERM");
      await run.ended;
    },
    stop: () => void run.child.kill("SIGSTOP"),
    cont: () => void run.child.kill("SIGCONT"),
    restart: async () => {
      await kill9();
      run = await launch();
    },
  };
}

/** The subscription `jobs.watch` over server-sent events, as a browser with these cookies reads it. */
function watchJobs(port: number, cookie: string): OpenStream {
  return (since, handlers, isBrief) => {
    const closed = new AbortController();
    const input = JSON.stringify({ json: { ...(since === null ? {} : { since }), isBrief } });
    const url = `http://127.0.0.1:${port}/api/trpc/jobs.watch?input=${encodeURIComponent(input)}`;
    const read = async () => {
      const response = await fetch(url, { headers: { cookie }, signal: closed.signal });
      if (!response.ok || !response.body) throw new Error(`the stream answered ${response.status}`);
      handlers.onOpen();
      for await (const update of readUpdates(response.body)) handlers.onUpdate(update);
    };
    read()
      .catch(() => undefined)
      .finally(() => handlers.onLost());
    return () => closed.abort();
  };
}

async function* readUpdates(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<JobsUpdate> {
  let text = "";
  for await (const part of body.pipeThrough(new TextDecoderStream())) {
    text += part;
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) {
      const fields = event.split("\n");
      // Named events are the protocol's own: connected, ping, return.
      if (fields.some((field) => field.startsWith("event:"))) continue;
      const data = fields.find((field) => field.startsWith("data:"));
      if (data) yield JSON.parse(data.slice("data:".length)).json;
    }
  }
}

/** What one browser sees, with the app's own store and reopening, and what was wrong with it. */
export interface Viewer {
  readonly store: LiveStore;
  /** How many streams have brought it something. */
  streams(): number;
  /** Every job that it was ever told of. */
  seen(): string[];
  /** One line for each revision that was older than one it had been told before. */
  readonly stepsBack: readonly string[];
  close(): void;
}

export function openViewer(port: number, cookie: string): Viewer {
  const store = createLiveStore();
  const stepsBack: string[] = [];
  const revisions = new Map<string, number>();
  let streams = 0;
  const check = ({ id, revision }: JobView) => {
    const last = revisions.get(id) ?? 0;
    if (revision < last) stepsBack.push(`${id} went back from revision ${last} to ${revision}`);
    revisions.set(id, revision);
  };
  const close = keepStream({
    open: watchJobs(port, cookie),
    since: () => store.state().at,
    onOpen: () => undefined,
    onLost: () => undefined,
    onUpdate: (update) => {
      if (update.type === "snapshot") streams += 1;
      if (update.type === "snapshot" || update.type === "jobs") update.jobs.forEach(check);
      store.apply(update);
    },
  });
  return { store, stepsBack, seen: () => [...revisions.keys()], streams: () => streams, close };
}

export interface Writer {
  readonly owner: TestOwner;
  /** A node with one slot of this writer alone. */
  readonly nodeId: string;
  readonly jobs: number;
  /** Awaited before each change. */
  readonly turn: () => Promise<void>;
}

const stages = 5;
const patienceMs = 60_000;

/** Takes jobs through their whole lives, ten changes each, as web and worker do; every third fails or is cancelled. */
export async function writeJobs(services: Services, writer: Writer): Promise<void> {
  for (let at = 0; at < writer.jobs; at += 1) {
    await writer.turn();
    await addJob(services, { owner: writer.owner });
    const job = await claimAny(services, writer.nodeId);
    const lease = { jobId: job.id, attempt: job.attempt, nodeId: writer.nodeId };
    await writer.turn();
    await start(services, lease);
    for (let stage = 1; stage <= stages; stage += 1) {
      await writer.turn();
      await persistProgress(services, lease, { progress: stage / (stages + 1), stage: "upscaling" });
    }
    await writer.turn();
    await end(services, { at, job, lease });
  }
}

/** The jobs of all writers stand in one line: each writer takes whichever is next. */
async function claimAny(services: Services, nodeId: string): Promise<Job> {
  let job: Job | null = null;
  await waitUntil(async () => {
    job ??= await claim(services, { nodeId, queue: testQueue, offers: localOffers });
    return job !== null;
  }, patienceMs);
  if (!job) throw new Error("there is nothing to claim");
  return job;
}

async function end(
  services: Services,
  { at, job, lease }: { at: number; job: Job; lease: Lease },
): Promise<void> {
  if (at % 6 === 2) {
    await fail(services, lease, new AppError("output_too_large"));
  } else if (at % 6 === 5) {
    await cancel(services, { ownerId: job.ownerId, id: job.id });
    await confirmCancel(services, lease);
  } else {
    await complete(services, { lease, outputs: [], facts: {} });
  }
}
