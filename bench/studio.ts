import { randomUUID } from "node:crypto";
import path from "node:path";
import { schema } from "@atelier/server/db";
import type { Need } from "@atelier/server/engines";
import { claim, complete, dispatch, type Job, start, submit } from "@atelier/server/jobs";
import { markGone, ownIdentity, register } from "@atelier/server/nodes";
import type { BellConsumer } from "@atelier/server/queue";
import { inSpan } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import { killAtExit, runNode } from "@atelier/testing/processes";
import { startTestWorker } from "@atelier/testing/worker";
import { inModelSpan, inRunSpan, noteClaim } from "../worker/base/spans.ts";
import { type Backend, insertImage, openStage, type Stage } from "./stage.ts";

/** A server and what is run there. */
export interface BareRun {
  readonly url: string;
  readonly graph: Readonly<Record<string, unknown>>;
}

/**
 * The reference: what a script without any studio does. POST /prompt, the socket until the prompt has ended, /history for
 * the file's name, GET /view; the bytes of the picture. It asks for previews as the studio does, and drops them.
 */
export async function runBare({ url, graph }: BareRun): Promise<Uint8Array> {
  const clientId = randomUUID();
  const socket = new WebSocket(`${url.replace("http", "ws")}/ws?clientId=${clientId}`);
  try {
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve, { once: true });
      socket.addEventListener("error", reject, { once: true });
    });
    const ended = untilEnded(socket);
    const answer = await fetch(`${url}/prompt`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      // Else the server would be spared what it does for the studio.
      body: JSON.stringify({ prompt: graph, client_id: clientId, extra_data: { preview_method: "auto" } }),
    });
    const { prompt_id: promptId }: { prompt_id?: string } = JSON.parse(await answer.text());
    if (!promptId) throw new Error(`the prompt was refused: ${answer.status}`);
    ended.expect(promptId);
    await ended.promise;
    return await view(url, promptId);
  } finally {
    socket.close();
  }
}

/** Waits for `executing null` of a prompt, which may come before its id is known. */
function untilEnded(socket: WebSocket) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const seen = new Set<string>();
  let expected: string | null = null;
  socket.addEventListener("message", ({ data }) => {
    if (typeof data !== "string") return;
    const message: { type: string; data: { node?: string | null; prompt_id?: string } } = JSON.parse(data);
    if (message.type !== "executing" || message.data.node !== null) return;
    seen.add(message.data.prompt_id ?? "");
    if (expected && seen.has(expected)) resolve();
  });
  return {
    promise,
    expect(promptId: string) {
      expected = promptId;
      if (seen.has(promptId)) resolve();
    },
  };
}

interface Picture {
  readonly filename: string;
  readonly subfolder: string;
  readonly type: string;
}

type History = Record<string, { outputs: Record<string, { images?: Picture[] }> }>;

async function view(url: string, promptId: string): Promise<Uint8Array> {
  const history: History = JSON.parse(await (await fetch(`${url}/history/${promptId}`)).text());
  const [picture] = Object.values(history[promptId]?.outputs ?? {}).flatMap(({ images }) => images ?? []);
  if (!picture) throw new Error("the prompt made no picture");
  const { filename, subfolder, type } = picture;
  const answer = await fetch(`${url}/view?${new URLSearchParams({ filename, subfolder, type }).toString()}`);
  return new Uint8Array(await answer.arrayBuffer());
}

/** A simulated ComfyUI server in a process of its own, so that it does not share the event loop of a measured process. */
interface ComfyProcess {
  readonly url: string;
  close(): Promise<void>;
}

const main = path.join(import.meta.dirname, "../testing/comfyui/main.ts");

async function startComfyProcess({ stepMs }: { stepMs: number }): Promise<ComfyProcess> {
  const args = ["--port", "0", "--step-ms", String(stepMs), "--previews", "none"];
  const run = runNode([main, ...args]);
  killAtExit(run.child);
  const [, url = ""] = await run.seen(/listens on (\S+)/);
  return {
    url,
    async close() {
      run.child.kill("SIGTERM");
      await run.ended;
    },
  };
}

/** The queue that every light node serves. */
export const lightQueue = "cpu-light";

export interface LightNodeOptions {
  readonly name?: string;
  readonly slots: number;
  /** What it can do; upscaling by default. */
  readonly needs?: readonly Need[];
  /** The run itself; nothing by default. */
  run?(job: Job): Promise<void>;
  /** The work is done; what follows is the product's. */
  onFinished?(jobId: string): void;
  onStarted?(jobId: string, job: Job): void;
  onCompleted?(jobId: string, job: Job): void;
}

export interface LightNode {
  /** Takes nothing new; resolves when its jobs are done. */
  close(): Promise<void>;
}

/** A node without files, engines and loops: it claims as a worker does, with its spans, waits, and completes. */
export async function startLightNode(services: Services, options: LightNodeOptions): Promise<LightNode> {
  const needs = options.needs ?? ["local/upscale"];
  const node = await register(services, {
    name: options.name ?? "bench",
    identity: ownIdentity(),
    capability: { cores: 2, memoryBytes: 4 * 1024 ** 3, gpus: [], kinds: ["upscale"], engines: ["local"] },
    queues: [{ queue: lightQueue, slots: options.slots, needs: [...needs] }],
  });
  const offers = needs.map((need) => ({ need, servers: null }));
  let isOpen = true;
  let last: Promise<unknown> = Promise.resolve();
  const claimNext = () => {
    const claimOne = async () => {
      const claimingAt = new Date();
      const job = await claim(services, { nodeId: node.id, queue: lightQueue, offers });
      if (job) noteClaim(services, job, claimingAt);
      return job;
    };
    const next = last.then(() => (isOpen ? claimOne() : null));
    last = next.catch(() => {});
    return next;
  };
  // As the worker does: each bell is answered with claims until there is nothing left.
  const consumer: BellConsumer = services.bells.consume(lightQueue, options.slots, async () => {
    for (let job = await claimNext(); job; job = await claimNext()) {
      const lease = { jobId: job.id, attempt: job.attempt, nodeId: node.id };
      options.onStarted?.(job.id, job);
      await inRunSpan(services, job, async () => {
        if (job.status !== "processing") await start(services, lease);
        const model = { job, provider: "local", model: job.need };
        await inModelSpan(services, model, async () => options.run?.(job));
        options.onFinished?.(job.id);
        await inSpan(services.tracing, "store", {}, () =>
          complete(services, { lease, outputs: [], facts: {} }),
        );
        return "completed";
      });
      options.onCompleted?.(job.id, job);
    }
  });
  // As the beats of workers, of which all nodes of a bench are alive: without it the node would count as away after 30 s.
  const beat = setInterval(() => {
    services.db
      .update(schema.nodes)
      .set({ seenAt: new Date() })
      .catch(() => {});
  }, services.config.timing.beatMs);
  // Dispatch waiting jobs now that a node can take them.
  await dispatch(services, lightQueue);
  return {
    async close() {
      isOpen = false;
      clearInterval(beat);
      await consumer.close();
      await markGone(services, node.id);
    },
  };
}

/** Jobs of the product whose engine does nothing: all that is measured is the way from submit to completed. */
export interface ZeroWork {
  /** Resolves with the job's id as soon as it is accepted. */
  accept(): Promise<string>;
  close(): Promise<void>;
}

export interface ZeroWorkEvents {
  readonly slots: number;
  onStarted?(jobId: string): void;
  /** The work is done; what follows is the product's. */
  onFinished?(jobId: string): void;
  onCompleted?(jobId: string): void;
}

export async function startZeroWork(stage: Stage, events: ZeroWorkEvents): Promise<ZeroWork> {
  const { services, ownerId } = stage;
  const image = await insertImage(services, ownerId);
  const node = await startLightNode(services, events);
  return {
    async accept() {
      const request = { kind: "upscale", inputs: { image } };
      const { id } = await submit(services, request, { submitter: { userId: ownerId, isGuest: false } });
      return id;
    },
    close: () => node.close(),
  };
}

/** One simulated server, the product's worker in a process of its own with that server, and services to submit with. */
export interface Studio {
  readonly stage: Stage;
  readonly serverUrl: string;
  /** Submits a picture of `steps` steps; its id. */
  accept(steps: number): Promise<string>;
  /** Resolves with the row once it has one of the statuses, as soon as a hint reports it. */
  until(id: string, ...statuses: readonly Job["status"][]): Promise<StoryTimes>;
  close(): Promise<void>;
}

/** When each stage of a job began, epoch ms; null when it never did. */
export interface StoryTimes {
  readonly status: Job["status"];
  readonly createdAt: Date;
  readonly queuedAt: Date | null;
  readonly claimedAt: Date | null;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
}

export const studioWorkflow = "t2i_sd15";
const hintMissedMs = 1_000;
const productConfig = path.join(import.meta.dirname, "../atelier.config.ts");

export async function openStudio(backend: Backend, { stepMs }: { stepMs: number }): Promise<Studio> {
  const stage = await openStage(backend);
  const server = await startComfyProcess({ stepMs });
  const env = { COMFYUI_URLS: server.url, ATELIER_CONFIG: productConfig };
  const worker = await startTestWorker(stage.services, { name: "bench", slots: 1, env });
  const { services, ownerId } = stage;
  await untilServed(stage);
  const read = async (id: string) => {
    const [row] = await stage.query<StoryTimes & { [name: string]: unknown }>(
      `select status, created_at as "createdAt", queued_at as "queuedAt", claimed_at as "claimedAt",
        started_at as "startedAt", ended_at as "endedAt" from jobs where id = $1`,
      [id],
    );
    if (!row) throw new Error(`there is no job ${id}`);
    return row;
  };
  const waiting = new Map<string, () => void>();
  services.hints.subscribe((message) => {
    if (message.type === "jobs") for (const { jobId } of message.jobs) waiting.get(jobId)?.();
  });
  return {
    stage,
    serverUrl: server.url,
    async accept(steps) {
      const params = { prompt: "a red chair", steps };
      const request = { kind: "text_to_image", workflow: studioWorkflow, params };
      return (await submit(services, request, { submitter: { userId: ownerId, isGuest: false } })).id;
    },
    async until(id, ...statuses) {
      for (;;) {
        const hinted = Promise.withResolvers<void>();
        waiting.set(id, hinted.resolve);
        const row = await read(id);
        if (statuses.includes(row.status)) {
          waiting.delete(id);
          return row;
        }
        const timer = setTimeout(hinted.resolve, hintMissedMs);
        await hinted.promise;
        clearTimeout(timer);
      }
    },
    async close() {
      await worker.term();
      await server.close();
      await stage.close();
    },
  };
}

/** The worker has found out what its server can do. */
async function untilServed(stage: Stage): Promise<void> {
  const isServed = "select 1 as served from node_queues where $1 = any(needs)";
  while ((await stage.query(isServed, [`comfyui/${studioWorkflow}`])).length === 0)
    await new Promise((resolve) => setTimeout(resolve, 100));
}
