// @module-tag all
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cancel } from "@atelier/server/jobs";
import { realTimeMs } from "../cases/index.ts";
import type { ComfySimulator, Fault } from "../comfyui/index.ts";
import { until, untilAll } from "../jobs/index.ts";
import { type ComfyScene, openComfyScene } from "./comfy-scene.ts";
import { eventually, freeWithinMs, measureWithin, oneByOne } from "./scene.ts";

/** What a fault of the socket may cost (F26). */
const addedMs = 3_000;

const socketFaults = [
  { kind: "socket-silent" },
  { kind: "socket-drop" },
  { kind: "socket-drop", refuse: true },
  { kind: "socket-no-end" },
] as const satisfies readonly Fault[];

/** Where a run is when it is cancelled: what holds it there, and how the server shows that it is there. */
interface Stage {
  readonly fault: Fault;
  readonly isReached: (server: ComfySimulator) => boolean;
}

const isAtWork = (server: ComfySimulator) => {
  const story = server.prompts().at(-1);
  return story?.started === 1 && story.finished === 0;
};

function countRequests(server: ComfySimulator, begin: string): number {
  const requests = Object.entries(server.stats().requests);
  return requests.reduce((sum, [name, count]) => sum + (name.startsWith(begin) ? count : 0), 0);
}

/** What is slow is so until then. */
function newStages(servers: readonly ComfySimulator[], until: Promise<void>): readonly Stage[] {
  const slowAnswer = (path: string, isDone: boolean): Stage => {
    const before = new Map(servers.map((server) => [server, countRequests(server, path)]));
    return {
      fault: { kind: "slow-answer", until, path, isDone },
      isReached: (server) => countRequests(server, path) > (before.get(server) ?? 0),
    };
  };
  return [
    slowAnswer("POST /upload/image", false),
    slowAnswer("POST /prompt", false),
    slowAnswer("POST /prompt", true),
    slowAnswer("GET /view", false),
    { fault: { kind: "hang" }, isReached: isAtWork },
    // It hears no interrupt until it is released.
    { fault: { kind: "hold" }, isReached: isAtWork },
  ];
}

describe("with one worker", () => {
  let scene: ComfyScene;
  const ends: (() => Promise<void>)[] = [];
  const ofOwner = (id: string) => ({ ownerId: scene.owner.userId, id });

  beforeAll(async () => {
    scene = await openComfyScene((end) => void ends.push(end), {
      servers: Array.from({ length: 6 }, () => ({ stepMs: 20 })),
    });
    await scene.startComfyWorker();
  }, realTimeMs);
  afterAll(async () => {
    for (const end of ends.toReversed()) await end();
  });

  /** How long after its end on the server each of some jobs at once was completed, ms by the server's address. */
  async function readDelays(): Promise<Map<string, number>> {
    const ids = await Promise.all(scene.servers.map(() => scene.submitWords({ steps: 10 })));
    const jobs = await untilAll(scene.services, ids, { statuses: ["completed"] });
    const delays = jobs.map(async ({ server, externalId, endedAt }) => {
      const response = await fetch(`${server}/history/${externalId}`);
      const [, endedOnServer] =
        /"execution_success",\{[^}]*"timestamp":(\d+)/.exec(await response.text()) ?? [];
      return [server ?? "", (endedAt?.getTime() ?? Infinity) - Number(endedOnServer)] as const;
    });
    return new Map(await Promise.all(delays));
  }

  /** How much longer than the slowest job beside them, on servers without a fault, the jobs with one took. */
  async function readAddedMs(): Promise<number> {
    socketFaults.forEach((fault, at) => scene.servers[at]?.inject(fault));
    const delays = await readDelays();
    expect(delays.size).toBe(scene.servers.length);
    const slowest = (of: readonly ComfySimulator[]) =>
      Math.max(...of.map(({ url }) => delays.get(url) ?? NaN));
    const count = socketFaults.length;
    return slowest(scene.servers.slice(0, count)) - slowest(scene.servers.slice(count));
  }

  test(
    "F26 a socket that is silent, dropped or never ends delays a job by at most 3 s",
    oneByOne,
    async () => {
      // The first jobs load code.
      await readDelays();
      expect(await measureWithin(addedMs, readAddedMs)).toBeLessThanOrEqual(addedMs);
      const prompts = scene.servers.flatMap((server) => server.prompts());
      expect(prompts.filter(({ posted, finished }) => posted !== 1 || finished !== 1)).toEqual([]);
      expect(await scene.faults()).toEqual([]);
    },
  );

  /** Cancels a job at each stage; how much later than it must the next one began on the place of the slowest. */
  async function readLateMs(): Promise<number> {
    const { services, servers } = scene;
    const { promise: answered, resolve: answerAll } = Promise.withResolvers<void>();
    const stages = newStages(servers, answered);
    stages.forEach(({ fault }, at) => servers[at]?.inject(fault));
    const ids = await Promise.all(servers.map(() => scene.submitPicture()));
    for (const [at, { isReached }] of stages.entries())
      await eventually(() => isReached(servers[at] as ComfySimulator), true);
    const next = await Promise.all(servers.map(() => scene.submitPicture()));
    const waiting = await scene.submitPicture();
    expect(await cancel(services, ofOwner(waiting))).toMatchObject({ status: "cancelled" });
    await Promise.all(ids.map((id) => cancel(services, ofOwner(id))));
    const cancelled = await untilAll(services, ids, { statuses: ["cancelled"] });
    const askedMs = Math.max(...cancelled.map(({ cancelRequestedAt }) => cancelRequestedAt?.getTime() ?? 0));
    const begun = await untilAll(services, next, { statuses: ["processing", "completed"] });
    const freeAfterMs = begun.map(({ startedAt }) => (startedAt?.getTime() ?? Infinity) - askedMs);
    answerAll();
    for (const server of servers) server.release();
    await untilAll(services, next, { statuses: ["completed"] });
    for (const { url } of servers) await eventually(() => readQueue(url), [[], []]);
    expect(scene.promptsOf(waiting)).toEqual([]);
    return Math.max(...freeAfterMs) - freeWithinMs(cancelled);
  }

  test(
    "F36 D6 a cancel while it uploads, posts, waits, runs or downloads frees its place within 2 s and leaves nothing on the server",
    oneByOne,
    async () => {
      expect(await measureWithin(0, readLateMs)).toBeLessThan(0);
      expect(await scene.faults()).toEqual([]);
    },
  );

  test(
    "F36 a cancel that meets the end of a run leaves the job completed or cancelled, never both",
    oneByOne,
    async () => {
      const { services } = scene;
      const ids = await Promise.all(Array.from({ length: 12 }, () => scene.submitWords({ steps: 4 })));
      await Promise.all(
        ids.map(async (id, at) => {
          await eventually(() => scene.promptsOf(id)[0]?.finished, 1);
          // Spread over what follows: the history, the download, the store, the row.
          await sleep(at * 15);
          await cancel(services, ofOwner(id));
        }),
      );
      await untilAll(services, ids, { statuses: ["completed", "cancelled"] });
      for (const { url } of scene.servers) await eventually(() => readQueue(url), [[], []]);
      const after = await scene.submitWords();
      await until(services, after, "completed");
      expect(await scene.faults()).toEqual([]);
    },
  );
});

async function readQueue(url: string): Promise<unknown[]> {
  const response = await fetch(`${url}/queue`);
  const { queue_running: running, queue_pending: pending } = (await response.json()) as Record<
    string,
    unknown
  >;
  return [running, pending];
}
