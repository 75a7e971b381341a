// @module-tag all
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { healthResponse } from "@atelier/server/api";
import { schema } from "@atelier/server/db";
import { estimate, readWaiting, submit } from "@atelier/server/jobs";
import { readNodes, readOverview } from "@atelier/server/monitoring";
import { livePlaces } from "@atelier/server/scheduling";
import type { Services } from "@atelier/server/services";
import { sql } from "drizzle-orm";
import { expect, test, vi } from "vitest";
import { type ProcessIdentity, isCertainlyAlive } from "../../scripts/process/lock.ts";
import { waitUntil } from "../../scripts/process/tools.ts";
import { readRecords } from "../../scripts/supervisor/supervise.ts";
import { forCases, realTimeMs } from "../cases/index.ts";
import { readJob, until } from "../jobs/index.ts";
import { startWeb } from "../live/scene.ts";
import { startPrivatePostgres } from "../postgres/index.ts";
import { killAtExit, runNode } from "../processes/index.ts";
import { processEnv } from "../worker/index.ts";
import { measureWithin, openScene, type Scene } from "./scene.ts";

/** The bound of the requirement: from the death to its display everywhere. */
const shownWithinMs = 35_000;
const awayAfterMs = 30_000;
/** How long a living worker may be away after a pause of the database. */
const awayAtMostMs = 5_000;
/** Longer than the silence after which a node is away. */
const longMs = 32_000;
const backend = "postgres" as const;

interface SupervisedWorker {
  readonly supervisor: ProcessIdentity;
  readonly worker: ProcessIdentity;
}

const workerScript = path.join(import.meta.dirname, "../../scripts/worker.ts");

/** The product's own worker under its own supervisor, as an operator starts it. */
async function startSupervisedWorker({ services }: Scene): Promise<SupervisedWorker> {
  const run = runNode([workerScript], { ...processEnv(services), WORKER_NAME: "only" });
  killAtExit(run.child);
  await run.seen(/The worker is running/);
  const find = () => {
    const [record] = readRecords(services.env.ATELIER_DATA_DIR);
    const worker = record?.children.find(({ name }) => name === "worker");
    return record && worker ? { supervisor: record.supervisor, worker } : null;
  };
  await waitUntil(() => find() !== null, realTimeMs);
  const found = find();
  if (!found) throw new Error(`no supervised worker was recorded, but:\n${run.output()}`);
  return found;
}

/** The supervisor first, since it would start the worker again. */
function kill9({ supervisor, worker }: SupervisedWorker): void {
  for (const each of [supervisor, worker]) if (isCertainlyAlive(each)) process.kill(each.pid, "SIGKILL");
}

const request = ({ owner }: Scene) => ({ kind: "upscale", inputs: { image: owner.imageId } });

/** What people and programs are told now about the workers, in every place that tells it. */
async function readSigns(scene: Scene) {
  const { services, owner } = scene;
  const health = await healthResponse(services);
  const { attention, queues } = await readOverview(services, { window: "1h" });
  return {
    health: (await health.json()) as { status: string; workers: object },
    estimate: await estimate(services, request(scene), owner),
    attention: attention.filter(({ type }) => type.startsWith("node_")),
    slots: queues.reduce((sum, { slots }) => sum + slots, 0),
  };
}

const isAway = ({ health, estimate: answer, attention, slots }: Awaited<ReturnType<typeof readSigns>>) =>
  health.status === "degraded" &&
  answer.isPossible &&
  answer.awaits === "worker" &&
  attention.some(({ type }) => type === "node_away") &&
  slots === 0;

const readRows = async ({ db }: Services) =>
  db
    .select({ id: schema.nodes.id, state: schema.nodes.state, endedAt: schema.nodes.endedAt })
    .from(schema.nodes);

test.concurrent(
  "A3 D9 the only worker and its supervisor die by -9: within 35 s health, estimates and admins show it, and jobs wait for the next worker",
  { timeout: realTimeMs },
  async ({ onTestFinished }) => {
    const scene = await openScene(onTestFinished, { backend });
    const { services, owner } = scene;
    const doomed = await startSupervisedWorker(scene);
    onTestFinished(() => kill9(doomed));
    await waitUntil(async () => (await readSigns(scene)).health.status === "ok", realTimeMs);
    const before = await readSigns(scene);
    expect(before).toMatchObject({ estimate: { isLive: true, awaits: null }, attention: [] });

    kill9(doomed);
    // What each look shows depends on when it begins, not on how long a busy machine makes it.
    let look = { silentMs: 0, isShown: false };
    while (!look.isShown && look.silentMs < shownWithinMs) {
      const { silentMs } = await readPresence(services);
      look = { silentMs, isShown: isAway(await readSigns(scene)) };
    }
    expect(look.isShown).toBe(true);
    expect(await readSigns(scene)).toMatchObject({
      health: {
        workers: { ok: false, active: 0, reason: "No worker is connected. Jobs wait for the next one." },
      },
      estimate: { isLive: false, reason: expect.stringContaining("waits for a worker that is away") },
      attention: [{ type: "node_away", node: "only" }],
    });
    expect(await readRows(services)).toMatchObject([{ state: "active", endedAt: null }]);

    const { id } = await submit(services, request(scene), { submitter: owner });
    expect(await readJob(services, id)).toMatchObject({ placement: { isLive: false }, attempt: 0 });
    expect((await readWaiting(services, owner.userId)).items).toMatchObject([{ id, awaits: "worker" }]);
    await scene.startWorker({ name: "next" });
    expect(await until(services, id, "completed")).toMatchObject({ attempt: 1, charged: 0 });
    // The watch of the next worker declares the dead one lost.
    await waitUntil(async () => (await readRows(services)).some(({ state }) => state === "lost"), realTimeMs);
    await waitUntil(async () => (await readSigns(scene)).health.status === "ok", realTimeMs);
    expect(await readSigns(scene)).toMatchObject({
      health: { status: "ok", workers: { active: 1, reason: null } },
      estimate: { isLive: true, awaits: null },
      attention: [{ type: "node_lost", node: "only" }],
    });
    expect(await scene.faults()).toEqual([]);
  },
);

/**
 * How old the last beat of the only worker is by the database's clock, ms, and whether it counts as away. The beat is read first:
 * one that comes in between can only make a worker present that was away.
 */
async function readPresence({ db }: Services): Promise<{ silentMs: number; isAway: boolean }> {
  return db.transaction(async (tx) => {
    const age = sql<number>`(extract(epoch from now() - ${schema.nodes.seenAt}) * 1000)::float8`;
    const [node] = await tx.select({ silentMs: age }).from(schema.nodes);
    if (!node) throw new Error("no worker is registered");
    return { ...node, isAway: (await livePlaces(tx)).length === 0 };
  });
}

async function nextBeat({ db }: Services): Promise<void> {
  const read = async () =>
    (await db.select({ counter: schema.nodes.counter }).from(schema.nodes))[0]?.counter;
  const first = await read();
  await waitUntil(async () => (await read()) !== first, realTimeMs);
}

forCases(
  "F16 D9 after $pauseMs ms of a frozen database a living worker is away only if its beat is older than 30 s, for at most 5 s, and its row stays as it is",
  { usual: [], others: [{ pauseMs: 14_000 }, { pauseMs: longMs }] },
  async ({ pauseMs }, { onTestFinished }) => {
    const postgres = await startPrivatePostgres();
    onTestFinished(() => postgres.destroy());
    const scene = await openScene(onTestFinished, { backend, env: { DATABASE_URL: postgres.url } });
    const { services } = scene;
    await scene.startWorker({ name: "living" });
    const rows = await readRows(services);
    /** When the worker was last away, from the thaw on. */
    const readAwayMs = async () => {
      // The silence before the pause counts with it, as where a busy disk holds up the beats.
      await nextBeat(services);
      expect(await readPresence(services)).toMatchObject({ isAway: false });
      postgres.freeze();
      await sleep(pauseMs);
      postgres.thaw();
      const thawedMs = performance.now();
      const afterMs = () => performance.now() - thawedMs;
      const looks: { silentMs: number; isAway: boolean; atMs: number }[] = [];
      while (afterMs() < 10_000 || looks.at(-1)?.isAway) {
        looks.push({ ...(await readPresence(services)), atMs: afterMs() });
        await sleep(50);
      }
      const away = looks.filter((look) => look.isAway);
      expect(away.filter(({ silentMs }) => silentMs <= awayAfterMs)).toEqual([]);
      return away.at(-1)?.atMs ?? 0;
    };
    expect(await measureWithin(awayAtMostMs, readAwayMs)).toBeLessThan(awayAtMostMs);
    const asBefore = { health: { status: "ok" }, estimate: { isLive: true }, attention: [] };
    await vi.waitFor(async () => expect(await readSigns(scene)).toMatchObject(asBefore));
    expect(await readRows(services)).toEqual(rows);
  },
);

forCases(
  "D9 a web process that is frozen for 32 s while the only worker $fate says in its first answer: $status",
  {
    usual: [],
    others: [
      { fate: "dies", status: "degraded", active: 0 },
      { fate: "lives", status: "ok", active: 1 },
    ],
  },
  async ({ fate, status, active }, { onTestFinished }) => {
    const scene = await openScene(onTestFinished, { backend });
    const { services } = scene;
    const worker = await scene.startWorker({ name: "only" });
    const web = await startWeb(services);
    onTestFinished(() => web.kill9());
    const read = async () => (await fetch(`http://127.0.0.1:${web.port}/api/health`)).json();
    expect(await read()).toMatchObject({ status: "ok", workers: { active: 1 } });
    web.stop();
    if (fate === "dies") await worker.kill9();
    await sleep(longMs);
    web.cont();
    expect(await read()).toMatchObject({ status, workers: { active } });
    expect((await readNodes(services)).map(({ isAway: is }) => is)).toEqual([fate === "dies"]);
  },
);
