import { spawn } from "node:child_process";
import { once } from "node:events";
import fs, { readFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { addNode } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { schema, type Tx } from "../db/index.ts";
import { createNodeWatch } from "./presence.ts";
import { isProcessOver, ownIdentity } from "./register.ts";
import { isConnectedNode, isLiveNode } from "./states.ts";

const { nodes } = schema;
const secondMs = 1_000;
/** Those of the configuration's defaults. */
const lostAfterMs = 7_000;
const watchGapMs = 2_000;

let opened: TestServices;
let nowMs: number;

beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());
beforeEach(async () => {
  nowMs = 0;
  await opened.services.db.delete(nodes);
});

const openWatch = () => createNodeWatch(() => nowMs);
const beat = (id: string) =>
  opened.services.db
    .update(nodes)
    .set({ counter: sql`counter + 1` })
    .where(eq(nodes.id, id));

async function readState(id: string) {
  const [node] = await opened.services.db.select().from(nodes).where(eq(nodes.id, id));
  return node?.state;
}

/** Reads each second until `untilMs`, with the given beats; gives back who was called lost and when. */
async function readUntil(
  watch: ReturnType<typeof openWatch>,
  untilMs: number,
  beating: readonly string[] = [],
) {
  const lost: [string, number][] = [];
  while (nowMs < untilMs) {
    for (const id of beating) await beat(id);
    for (const id of await watch.read(opened.services)) lost.push([id, nowMs]);
    nowMs += secondMs;
  }
  return lost;
}

test.each(["active", "draining"] as const)(
  "D9 a silent %s node is lost after seven seconds, its neighbour is not",
  async (state) => {
    const silent = await addNode(opened.services, { state });
    const beating = await addNode(opened.services);
    expect(await readUntil(openWatch(), 20_000, [beating])).toEqual([[silent, lostAfterMs]]);
    expect([await readState(silent), await readState(beating)]).toEqual(["lost", "active"]);
  },
);

test("D9 a node whose process has ended beside the watcher is lost at the first look; one that runs there, or elsewhere, is not", async () => {
  const own = ownIdentity();
  const child = spawn(process.execPath, ["--eval", "setInterval(() => undefined, 60_000)"]);
  const pid = child.pid ?? 0;
  const started = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ")[19] ?? "";
  const addProcess = async (bootId: string, pidStartedAt = started) => {
    const id = await addNode(opened.services);
    await opened.services.db.update(nodes).set({ bootId, pid, pidStartedAt }).where(eq(nodes.id, id));
    return id;
  };
  const [dying, elsewhere] = [await addProcess(own.bootId), await addProcess("another host")];
  const reused = await addProcess(own.bootId, "1");
  const watch = openWatch();
  expect(await watch.read(opened.services)).toEqual([reused]);
  child.kill("SIGKILL");
  await once(child, "close");
  nowMs += secondMs;
  expect(await watch.read(opened.services)).toEqual([dying]);
  expect(await readState(elsewhere)).toBe("active");
});

test("D9 a process that sees those of another namespace in /proc takes none for ended, least of all itself", () => {
  const { readlinkSync } = fs;
  fs.readlinkSync = ((file: string) =>
    file === "/proc/self" ? "41" : readlinkSync(file)) as typeof readlinkSync;
  syncBuiltinESMExports();
  try {
    const own = ownIdentity();
    expect(isProcessOver({ ...own, pidStartedAt: "another" }, ownIdentity())).toBe(false);
  } finally {
    fs.readlinkSync = readlinkSync;
    syncBuiltinESMExports();
  }
});

test("D9 a node that left in order is never called lost", async () => {
  const gone = await addNode(opened.services, { state: "gone" });
  expect(await readUntil(openWatch(), 10_000)).toEqual([]);
  expect(await readState(gone)).toBe("gone");
});

test("F31 D9 timestamps of the node say nothing: its clock may be ten minutes off either way", async () => {
  const ids = [await addNode(opened.services), await addNode(opened.services)];
  for (const [at, minutes] of [-10, 10].entries())
    await opened.services.db.execute(
      sql`update ${nodes} set seen_at = now() + ${minutes} * interval '1 minute' where id = ${ids[at]}`,
    );
  expect(await readUntil(openWatch(), 10_000, ids)).toEqual([]);
});

test("F16 D9 a gap in the reads starts the watch anew, so that a pause of the database loses nobody", async () => {
  const id = await addNode(opened.services);
  const watch = openWatch();
  await readUntil(watch, lostAfterMs - secondMs);
  nowMs += watchGapMs + 1;
  const afterGapMs = nowMs;
  expect(await readUntil(watch, afterGapMs + lostAfterMs)).toEqual([]);
  expect(await readUntil(watch, afterGapMs + 2 * lostAfterMs)).toEqual([[id, afterGapMs + lostAfterMs]]);
});

test("D9 twenty watchers call a lost node lost once", async () => {
  const id = await addNode(opened.services);
  const watches = Array.from({ length: 20 }, openWatch);
  const lost: string[] = [];
  for (nowMs = 0; nowMs <= lostAfterMs; nowMs += secondMs) {
    const reads = await Promise.all(watches.map((watch) => watch.read(opened.services)));
    lost.push(...reads.flat());
  }
  expect(lost).toEqual([id]);
});

test("D9 a beat between the read and the verdict keeps the node alive", async () => {
  const id = await addNode(opened.services);
  const watch = openWatch();
  await readUntil(watch, lostAfterMs);
  const { db } = opened.services;
  // The counter is read first, then the verdict is written: the beat comes in between.
  const late = new Proxy(db, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (name !== "update" || typeof value !== "function") return value;
      return (table: typeof nodes) => ({
        set: (change: object) => ({
          where: (guard: ReturnType<typeof sql>) => ({
            returning: async (columns: { id: typeof nodes.id; name: typeof nodes.name }) => {
              await beat(id);
              return db.update(table).set(change).where(guard).returning(columns);
            },
          }),
        }),
      });
    },
  });
  expect(await watch.read({ ...opened.services, db: late })).toEqual([]);
  expect(await readState(id)).toBe("active");
});

describe("who is away", () => {
  /** What any process reads now, with the state and the end of the node, which no reader may change. */
  async function judge(id: string, db: Pick<Tx, "execute"> = opened.services.db) {
    const rows = await db.execute(sql`
      select ${isConnectedNode} as "isConnected", ${isLiveNode} as "isLive", state, ended_at as "endedAt"
      from ${nodes} n where id = ${id}`);
    return rows[0];
  }
  const live = { isConnected: true, isLive: true, state: "active", endedAt: null };
  const away = { ...live, isConnected: false, isLive: false };
  /** The beat of a worker: see `worker/beat-thread.ts`. */
  const beatNow = (id: string, db: Pick<Tx, "update"> = opened.services.db) =>
    db
      .update(nodes)
      .set({ counter: sql`counter + 1`, seenAt: sql`now()` })
      .where(eq(nodes.id, id));
  /** Time passes in which the node does not beat; its row is as it would be then. */
  const passS = (id: string, seconds: number, db: Pick<Tx, "update"> = opened.services.db) =>
    db
      .update(nodes)
      .set({ seenAt: sql`seen_at - ${seconds} * interval '1 second'` })
      .where(eq(nodes.id, id));

  test("D9 a node is away after 30 s without a beat, and back with its next one", async () => {
    const id = await addNode(opened.services);
    // In one transaction, for which the time of the database stands.
    await opened.services.db.transaction(async (tx) => {
      await beatNow(id, tx);
      await passS(id, 29, tx);
      expect(await judge(id, tx)).toEqual(live);
      await passS(id, 1, tx);
      expect(await judge(id, tx)).toEqual(away);
    });
    expect(await judge(id)).toEqual(away);
    await beatNow(id);
    expect(await judge(id)).toEqual(live);
  });

  test("D9 a draining node is connected and takes nothing; one that ended is neither, however fresh its beat", async () => {
    for (const [state, isConnected] of [
      ["draining", true],
      ["lost", false],
      ["gone", false],
    ] as const) {
      const id = await addNode(opened.services, { state });
      await beatNow(id);
      expect(await judge(id)).toMatchObject({ isConnected, isLive: false, state });
    }
  });

  test("F16 D9 a database that was paused for 14 s finds nobody away, after an hour everybody until the next beat", async () => {
    const ids = [await addNode(opened.services), await addNode(opened.services)];
    for (const id of ids) await beatNow(id);
    for (const id of ids) await passS(id, 14);
    for (const id of ids) expect(await judge(id)).toEqual(live);
    for (const id of ids) await passS(id, 3_600);
    for (const id of ids) expect(await judge(id)).toEqual(away);
    for (const id of ids) await beatNow(id);
    for (const id of ids) expect(await judge(id)).toEqual(live);
  });

  test("F31 D9 a reader that was frozen for ten minutes, or whose clock is wrong, judges like one that has just started", async () => {
    const [beating, dead] = [await addNode(opened.services), await addNode(opened.services)];
    for (const id of [beating, dead]) await beatNow(id);
    expect([await judge(beating), await judge(dead)]).toEqual([live, live]);
    vi.useFakeTimers({ toFake: ["Date", "performance"] });
    try {
      vi.setSystemTime(Date.now() + 600_000);
      await passS(dead, 600);
      await beatNow(beating);
      expect([await judge(beating), await judge(dead)]).toEqual([live, away]);
    } finally {
      vi.useRealTimers();
    }
    const another = await opened.openAnother();
    const rows = await another.db.execute(sql`select id, ${isLiveNode} as "isLive" from ${nodes} n`);
    expect(new Map(rows.map(({ id, isLive }) => [id, isLive]))).toEqual(
      new Map([
        [beating, true],
        [dead, false],
      ]),
    );
  });
});
