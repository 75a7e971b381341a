import { schema } from "@atelier/server/db";
import { submit } from "@atelier/server/jobs";
import { sql } from "drizzle-orm";
import { waitUntil } from "../../scripts/process/tools.ts";
import {
  startComfySimulator,
  type ComfyOptions,
  type ComfySimulator,
  type Fault,
  type PromptStory,
} from "../comfyui/index.ts";
import { serverQueues } from "../config/server-queues.ts";
import type { TestServicesOptions } from "../services/index.ts";
import type { TestWorker, TestWorkerOptions } from "../worker/index.ts";
import { openScene, type Scene } from "./scene.ts";

const patienceMs = 90_000;
/** A worker has to start first, which may take long where many others do. */
const startMs = 90_000;

/** A scene with simulated ComfyUI servers, whose ledgers say what was really done. */
export interface ComfyScene extends Scene {
  readonly servers: readonly ComfySimulator[];
  /** What tells a worker of all of them. */
  readonly env: Readonly<Record<string, string>>;
  /** A worker of these servers (by default all), once it has told that all of them are well. */
  startComfyWorker(options?: ComfyWorkerOptions): Promise<TestWorker>;
  /** Waits until some worker has told that all servers are well. */
  untilServed(): Promise<void>;
  /** Submits a job that uploads a picture, works for a moment and downloads the result. */
  submitPicture(): Promise<string>;
  /** Submits a job of words, whose sampler takes `steps` steps. */
  submitWords(change?: WordsChange): Promise<string>;
  /** Every prompt that was posted for the job, on whichever server. */
  promptsOf(jobId: string): PromptStory[];
  /** The server where a prompt of the job is at work, once there is one. */
  serverOf(jobId: string): Promise<ComfySimulator>;
  /** Puts the fault on every server. */
  injectAll(fault: Fault): void;
  stateOf(server: ComfySimulator): Promise<string | undefined>;
}

interface ComfyWorkerOptions extends TestWorkerOptions {
  readonly servers?: readonly ComfySimulator[];
}

interface WordsChange {
  readonly prompt?: string;
  readonly steps?: number;
  readonly ownerId?: string;
}

export interface ComfySceneOptions extends TestServicesOptions {
  /** What each server is like; two ordinary ones by default. */
  readonly servers?: readonly ComfyOptions[];
}

/** Opens a scene for one test; its servers end with it. */
export async function openComfyScene(
  onFinished: (end: () => Promise<void>) => void,
  { servers: wanted = [{}, {}], ...options }: ComfySceneOptions = {},
): Promise<ComfyScene> {
  const servers = await Promise.all(wanted.map((each) => startComfySimulator(each)));
  onFinished(async () => {
    await Promise.all(servers.map((server) => server.close()));
  });
  const scene = await openScene(onFinished, { config: { queues: serverQueues }, ...options });
  const promptsOf = (jobId: string) =>
    servers.flatMap((server) => server.prompts().filter((story) => isOf(story, jobId)));
  const envOf = (own: readonly ComfySimulator[]) => ({ COMFYUI_URLS: own.map(({ url }) => url).join(",") });
  return {
    ...scene,
    servers,
    env: envOf(servers),
    promptsOf,
    submitPicture: () => submitPicture(scene),
    submitWords: (change = {}) => submitWords(scene, change),
    injectAll: (fault) => servers.forEach((server) => server.inject(fault)),
    stateOf: (server) => readState(scene, server),
    async startComfyWorker({ servers: own = servers, ...workerOptions } = {}) {
      const worker = await scene.startWorker({
        config: "servers",
        ...workerOptions,
        env: { ...envOf(own), ...workerOptions.env },
      });
      if (!(await isServed(scene, own.length, worker.pid)))
        throw new Error(`no servers:\n${worker.output()}`);
      return worker;
    },
    async untilServed() {
      if (!(await isServed(scene, servers.length))) throw new Error("no worker tells of its servers");
    },
    async serverOf(jobId) {
      const find = () => servers.find((server) => server.prompts().some((story) => isRunning(story, jobId)));
      await waitUntil(() => find() !== undefined, patienceMs);
      const found = find();
      if (!found) throw new Error(`nothing of ${jobId} runs: ${JSON.stringify(promptsOf(jobId))}`);
      return found;
    },
  };
}

/** The prefix of its files names the job. */
function isOf({ graph }: PromptStory, jobId: string): boolean {
  return JSON.stringify(graph).includes(`atelier/${jobId}-`);
}

function isRunning(story: PromptStory, jobId: string): boolean {
  const { started, finished, failed, interrupted, lost } = story;
  return isOf(story, jobId) && started > finished + failed + interrupted + lost;
}

async function submitPicture({ services, owner }: Scene): Promise<string> {
  const request = { kind: "upscale", workflow: "upscale_model", inputs: { image: owner.imageId } };
  return (await submit(services, request, { submitter: owner })).id;
}

async function submitWords({ services, owner }: Scene, change: WordsChange): Promise<string> {
  const { prompt = "a red chair", steps = 2, ownerId = owner.userId } = change;
  const params = { prompt, steps, width: 256, height: 256 };
  const request = { kind: "text_to_image", workflow: "t2i_sd15", params };
  return (await submit(services, request, { submitter: { ...owner, userId: ownerId } })).id;
}

/** Waits until the node of the process, or any, sees so many healthy servers and offers what they can do. */
function isServed({ services }: Scene, count: number, pid: number | null = null): Promise<boolean> {
  const { engineServers, nodes, nodeQueues } = schema;
  return waitUntil(async () => {
    const result = await services.db.execute(sql`
      select 1 from ${nodes} n
      where n.state = 'active' and (n.pid = ${pid} or ${pid}::int is null)
        and (select count(*) from ${engineServers} s where s.node_id = n.id and s.state = 'healthy') >= ${count}
        and exists (select 1 from ${nodeQueues} q where q.node_id = n.id and 'comfyui/upscale_model' = any(q.needs))`);
    return result.length > 0;
  }, startMs);
}

async function readState({ services }: Scene, { url }: ComfySimulator): Promise<string | undefined> {
  const { engineServers, nodes } = schema;
  const result = await services.db.execute<{ state: string }>(sql`
    select s.state from ${engineServers} s join ${nodes} n on n.id = s.node_id
    where s.url = ${url} and n.state = 'active' limit 1`);
  return result[0]?.state;
}
