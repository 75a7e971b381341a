// @module-tag all
import { expect, onTestFinished, test } from "vitest";
import { resolveCaller } from "@atelier/server/accounts";
import { schema } from "@atelier/server/db";
import type { Job } from "@atelier/server/jobs";
import { waitUntil } from "../../scripts/process/tools.ts";
import { forBackends, inAll, realTimeMs } from "../cases/index.ts";
import { addImage, addNode, type TestOwner } from "../jobs/index.ts";
import { createTestServices, openAccount, type TestServices } from "../services/index.ts";
import { openViewer, startGatheringProxy, startProxy, startWeb, type Viewer, writeJobs } from "./scene.ts";

const writers = 20;
const jobsPerWriter = 10;
const changesPerJob = 10;
const cuts = 50;
const turnsPerCut = Math.ceil((jobsPerWriter * changesPerJob) / cuts);
const patienceMs = 60_000;
const timeout = 240_000;
const endPatienceMs = 60_000;

interface Person {
  readonly owner: TestOwner;
  readonly cookie: string;
}

async function addPerson({ services }: TestServices, name: string): Promise<Person> {
  const browser = await openAccount(services, `${name}@example.test`);
  const caller = await resolveCaller(services, browser.headers);
  if (!caller) throw new Error("the new account has no session");
  const imageId = await addImage(services, caller.userId);
  const owner = { userId: caller.userId, isGuest: false, imageId } as const;
  return { owner, cookie: browser.headers.get("cookie") ?? "" };
}

/** Makes writers wait before each change until the cut that it belongs to has been made. */
function createPace() {
  let made = 0;
  return {
    made: () => made,
    noteCut: () => void (made += 1),
    newTurn: () => {
      let turns = 0;
      return async () => {
        turns += 1;
        await waitUntil(() => made >= Math.min(cuts, Math.floor(turns / turnsPerCut)), timeout);
      };
    },
  };
}

forBackends(
  "D7 F33 on %s: 20 writers, 2,000 changes, 50 cuts, a killed web process: all ends are shown, no revision goes back",
  async (backend, { onTestFinished }) => {
    const opened = await createTestServices({ backend });
    onTestFinished(() => opened.close());
    const { services } = opened;
    const people = [await addPerson(opened, "one"), await addPerson(opened, "two")];
    const web = await startWeb(services);
    onTestFinished(() => web.kill9());
    const proxy = await startProxy(web.port);
    onTestFinished(() => proxy.close());
    const viewers = people.flatMap(({ owner, cookie }) =>
      [1, 2].map(() => {
        const viewer = openViewer(proxy.port, cookie);
        onTestFinished(() => viewer.close());
        return { viewer, owner };
      }),
    );
    const pace = createPace();
    const written = Promise.all(
      Array.from({ length: writers }, async (_, at) => {
        const { owner } = people[at % people.length] as Person;
        const nodeId = await addNode(services);
        await writeJobs(services, { owner, nodeId, jobs: jobsPerWriter, turn: pace.newTurn() });
      }),
    );
    for (let cut = 1; cut <= cuts; cut += 1) {
      const before = viewers.map(({ viewer }) => viewer.streams());
      if (cut === cuts / 2) await web.restart();
      else proxy.cut();
      pace.noteCut();
      const isBack = () => viewers.every(({ viewer }, at) => viewer.streams() > (before[at] ?? 0));
      expect(await waitUntil(isBack, patienceMs)).toBe(true);
    }
    await written;
    const rows = await services.db.select().from(schema.jobs);
    expect(rows.reduce((sum, row) => sum + row.revision, 0)).toBeGreaterThanOrEqual(2_000);
    // Nothing is cut any more: what is missing now would be missing for good.
    const faults = () => viewers.flatMap(({ viewer, owner }) => findWrong(viewer, rows, owner.userId));
    await waitUntil(() => faults().length === 0, endPatienceMs);
    expect(faults()).toEqual([]);
    expect(viewers.flatMap(({ viewer }) => viewer.stepsBack)).toEqual([]);
  },
);

test(
  "D7 behind a proxy that gives out an answer at its end all changes are shown",
  { ...inAll, timeout: realTimeMs },
  async () => {
    const opened = await createTestServices();
    onTestFinished(() => opened.close());
    const { owner, cookie } = await addPerson(opened, "gathered");
    const web = await startWeb(opened.services);
    onTestFinished(() => web.kill9());
    const proxy = await startGatheringProxy(web.port);
    onTestFinished(() => proxy.close());
    const viewer = openViewer(proxy.port, cookie);
    onTestFinished(() => viewer.close());
    expect(await waitUntil(() => viewer.streams() > 0, patienceMs)).toBe(true);
    const nodeId = await addNode(opened.services);
    await writeJobs(opened.services, { owner, nodeId, jobs: 3, turn: () => Promise.resolve() });
    const rows = await opened.services.db.select().from(schema.jobs);
    await waitUntil(() => findWrong(viewer, rows, owner.userId).length === 0, endPatienceMs);
    expect(findWrong(viewer, rows, owner.userId)).toEqual([]);
  },
);

/** Own jobs that are not shown as they are, and any of another. */
function findWrong(viewer: Viewer, rows: readonly Job[], ownerId: string): string[] {
  const own = rows.filter((row) => row.ownerId === ownerId);
  const ownIds = new Set(own.map((row) => row.id));
  const wrong = own.filter(({ id, status, revision }) => {
    const shown = viewer.store.job(id);
    return shown?.status !== status || shown.revision !== revision;
  });
  const lines = wrong.map(({ id, status, revision }) => {
    const shown = viewer.store.job(id);
    return `${id} is ${status} at ${revision}, shown as ${shown?.status} at ${shown?.revision}`;
  });
  return [...lines, ...viewer.seen().flatMap((id) => (ownIds.has(id) ? [] : [`${id} is another's`]))];
}
