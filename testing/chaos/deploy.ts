import { isDeepStrictEqual } from "node:util";
import { sql } from "drizzle-orm";
import { resolveCaller } from "@atelier/server/accounts";
import { migrate } from "@atelier/server/db";
import { type Job, submit } from "@atelier/server/jobs";
import { newId } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import { waitUntil } from "../../scripts/process/tools.ts";
import { addImage, readStory, type TestOwner, untilAll } from "../jobs/index.ts";
import { openViewer, startProxy, startWeb, type TestWeb } from "../live/scene.ts";
import { openAccount } from "../services/index.ts";
import type { TestWorker } from "../worker/index.ts";
import type { Scene } from "./scene.ts";

/**
 * What a later version does to the tables that processes of this one write: columns, a table, an index, and a function with the
 * same arguments, which a process of this version that is started again must leave alone.
 */
async function migrateAdditively({ db, env }: Pick<Services, "db" | "env">): Promise<void> {
  for (const table of ["jobs", "job_events", "images", "nodes", "node_queues", "users", "sessions"])
    await db.execute(sql.raw(`alter table ${table} add column added_later text not null default 'x'`));
  await db.execute(
    sql`create table added_later (id uuid primary key, job_id uuid references jobs on delete cascade)`,
  );
  await db.execute(sql`create index jobs_added_later on jobs (added_later)`);
  await db.execute(sql`create or replace function idle_slots(p_queue text, p_need text) returns int language sql stable as $$
    select coalesce(sum(greatest(0, q.slots - (
      select count(*) from jobs r where r.node_id = n.id and r.queue = q.queue and r.status in ('waiting_for_engine', 'processing')
    ))), 0)::int from node_queues q join nodes n on n.id = q.node_id and n.state = 'active'
    where q.queue = p_queue and p_need = any(q.needs)
  $$`);
  await db.execute(
    sql`insert into drizzle.functions (version, sha256) select max(version) + 1, 'later' from drizzle.functions`,
  );
  const readBody = () =>
    db.execute(sql`select pg_get_functiondef('idle_slots(text, text)'::regprocedure) as body`);
  const later = await readBody();
  await migrate(env.DATABASE_URL ?? "");
  if (!isDeepStrictEqual(await readBody(), later))
    throw new Error("a start of this version took a function of the later one");
}

/** The events of one job as a program reads them: after each lost stream it goes on with `Last-Event-ID`. */
export interface EventReader {
  /** Ids in the order of arrival, over all streams. */
  readonly ids: readonly number[];
  /** Streams that brought something. */
  streams(): number;
  readonly ended: Promise<boolean>;
}

/** Until all jobs have ended, and until all clients know. */
const endMs = 200_000;
const toldMs = 60_000;
const finals = ["completed", "failed", "cancelled"] as const;

function readEvents(port: number, cookie: string, id: string): EventReader {
  const ids: number[] = [];
  let streams = 0;
  const readOnce = async () => {
    const last = String(ids.at(-1) ?? 0);
    const url = `http://127.0.0.1:${port}/api/v1/jobs/${id}/events`;
    const response = await fetch(url, { headers: { cookie, "last-event-id": last } });
    if (!response.ok || !response.body) throw new Error(`the stream answered ${response.status}`);
    let text = "";
    let hasSome = false;
    for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
      const lines = (text += part).split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) {
        if (!line.startsWith("id:")) continue;
        if (!hasSome) streams += 1;
        hasSome = true;
        ids.push(Number(line.slice("id:".length)));
      }
    }
  };
  // A stream that ends by itself has brought the last event.
  const hasEnded = () =>
    readOnce().then(
      () => true,
      () => false,
    );
  return { ids, streams: () => streams, ended: waitUntil(hasEnded, endMs) };
}

type OnFinished = (end: () => Promise<void>) => void;

export type Studio = Awaited<ReturnType<typeof openStudio>>;

/** A person with a browser and a program, behind a proxy that leads to the old web process. */
export async function openStudio({ services }: Pick<Scene, "services">, onFinished: OnFinished) {
  const browser = await openAccount(services, `${newId()}@example.test`);
  const caller = await resolveCaller(services, browser.headers);
  if (!caller) throw new Error("the new account has no session");
  const { userId } = caller;
  const owner: TestOwner = { userId, isGuest: false, imageId: await addImage(services, userId) };
  const cookie = browser.headers.get("cookie") ?? "";
  const startNewWeb = async (): Promise<TestWeb> => {
    const web = await startWeb(services);
    onFinished(() => web.kill9());
    return web;
  };
  const oldWeb = await startNewWeb();
  const proxy = await startProxy(oldWeb.port);
  onFinished(() => proxy.close());
  const viewer = openViewer(proxy.port, cookie);
  onFinished(async () => viewer.close());
  const readers = new Map<string, EventReader>();
  return {
    oldWeb,
    startNewWeb,
    proxy,
    viewer,
    readers,
    /** Submits jobs as the web does, and follows each. */
    async submit(count: number): Promise<void> {
      for (let at = 0; at < count; at += 1) {
        const request = { kind: "upscale", inputs: { image: owner.imageId } };
        const { id } = await submit(services, request, { submitter: owner });
        readers.set(id, readEvents(proxy.port, cookie, id));
      }
    },
    /** Empty when every job was completed uncharged and every client was told all of it, each event once. */
    async findWrong(): Promise<string[]> {
      const ids = [...readers.keys()];
      const rows = await untilAll(services, ids, { statuses: finals, patienceMs: endMs });
      const wrong = await Promise.all(rows.map((row) => findWrongOf(row)));
      return [...wrong.flat(), ...viewer.stepsBack];
    },
  };

  async function findWrongOf({ id, status, charged, revision }: Job): Promise<string[]> {
    const reader = readers.get(id);
    await reader?.ended;
    const story = (await readStory(services, id)).map((event) => event.revision).join();
    const isShown = await waitUntil(() => viewer.store.job(id)?.revision === revision, toldMs);
    const told = reader?.ids.join();
    return [
      ...(status === "completed" && charged === 0 ? [] : [`${id} ${status}, charged ${charged}`]),
      ...(told === story ? [] : [`${id} has the events ${story}, its reader was told ${told}`]),
      ...(isShown ? [] : [`${id} is not shown as it ended`]),
    ];
  }
}

interface Deployment {
  readonly oldWorkers: readonly TestWorker[];
  readonly startNewWorkers: () => Promise<unknown>;
}

/**
 * Deploys a later version: its migration, its processes beside the old ones, then SIGTERM to the old ones while jobs run
 * on them. Returns the exit codes of the old workers.
 */
export async function deploy(
  { services }: Pick<Scene, "services">,
  studio: Studio,
  { oldWorkers, startNewWorkers }: Deployment,
): Promise<(number | null)[]> {
  await migrateAdditively(services);
  await studio.submit(3);
  const [web] = await Promise.all([studio.startNewWeb(), startNewWorkers()]);
  await studio.submit(3);
  const left = Promise.all(oldWorkers.map((worker) => worker.term()));
  studio.proxy.turnTo(web.port);
  await studio.oldWeb.term();
  await studio.submit(3);
  return left;
}
