import { createHash } from "node:crypto";
import { eq, sql } from "drizzle-orm";
import { drizzle as overPg } from "drizzle-orm/node-postgres";
import type { PgDatabase, PgQueryResultHKT } from "drizzle-orm/pg-core";
import { drizzle as overPostgresJs } from "drizzle-orm/postgres-js";
import pg from "pg";
import postgres from "postgres";
import { openDatabase, schema } from "@atelier/server/db";
import { openStage } from "./stage.ts";
import { quantile, show, showRatio, summarise } from "./start-and-throughput.ts";

type AnyDb = PgDatabase<PgQueryResultHKT, typeof schema>;

interface Side {
  readonly name: string;
  readonly db: AnyDb;
  close(): Promise<void>;
}

const connections = 5;

const send: unknown = Reflect.get(pg.Client.prototype, "query");
if (typeof send !== "function") throw new Error("pg has changed");
const query = send;

/** pg sends a statement as prepared only under a name, and drizzle gives none. */
class NamingClient extends pg.Client {
  override query(...args: unknown[]): never {
    const [first, values] = args;
    const isParametrised = Array.isArray(values) && values.length > 0 && values.length <= 32;
    if (isParametrised && typeof first === "object" && first !== null && "text" in first) {
      const name = createHash("sha1").update(String(first.text)).digest("base64");
      args[0] = { ...first, name };
    }
    // Safe: the same arguments, of which one has a name more.
    return Reflect.apply(query, this, args) as never;
  }
}

function openSides(url: string): Side[] {
  const ours = openDatabase({ url, applicationName: "ours", maxConnections: connections });
  const plain = new pg.Pool({ connectionString: url, max: connections });
  const named = new pg.Pool({ connectionString: url, max: connections, Client: NamingClient });
  const alone = postgres(url, { max: connections, onnotice: () => undefined });
  // Safe: what the bench uses of them is the same in all drivers.
  const asAny = (db: unknown) => db as AnyDb;
  return [
    { name: "ours", db: asAny(ours.db), close: () => ours.close() },
    { name: "pg", db: asAny(overPg(plain, { schema })), close: () => plain.end() },
    { name: "pg, prepared", db: asAny(overPg(named, { schema })), close: () => named.end() },
    { name: "postgres.js alone", db: asAny(overPostgresJs(alone, { schema })), close: () => alone.end() },
  ];
}

const { jobs, jobEvents } = schema;

/** A row by its id, the search of a claim, and a change of a row with its event in a transaction. */
const works: Readonly<Record<string, (db: AnyDb, id: string) => Promise<unknown>>> = {
  "row by its id": (db, id) => db.select().from(jobs).where(eq(jobs.id, id)),
  "next of a queue": (db) =>
    db.execute(sql`select j.id, j.run_alone, j.charged, j.queued_at from ${jobs} j
      where j.queue = ${"bench"} and j.status = 'queued' and j.need in (${"local/upscale"}, ${"local/outfit"})
      order by j.tier desc, is_resumed(j) desc, j.queued_at, j.id limit 1`),
  "change in a transaction": (db, id) =>
    db.transaction((tx) =>
      tx.execute(sql`with moved as (
          update ${jobs} set progress = ${0.5}, revision = revision + 1 where id = ${id} returning *
        ), logged as (
          insert into ${jobEvents} (job_id, revision, type, status) select id, revision, ${"progress"}, status from moved
        ) select * from moved`),
    ),
};

const rows = 500;
const rounds = 9;
const calls = 400;
const atOnce = 10;

interface Reading {
  readonly perSecond: number;
  readonly cpuUs: number;
}

async function measure(work: (at: number) => Promise<unknown>): Promise<Reading> {
  const cpu = process.cpuUsage();
  const beganMs = performance.now();
  let next = 0;
  const run = async () => {
    while (next < calls) {
      next += 1;
      await work(next);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, run));
  const tookMs = performance.now() - beganMs;
  const { user, system } = process.cpuUsage(cpu);
  return { perSecond: (calls * 1_000) / tookMs, cpuUs: (user + system) / calls };
}

/** The product's driver beside others under the same drizzle: calls in a second, ten at once over five connections, and CPU. */
export async function benchDriver(): Promise<string[]> {
  const stage = await openStage("redis");
  await stage.run(`insert into jobs (id, owner_id, kind, status, tier, params, queue, engine, need, queued_at)
    select gen_random_uuid(), '${stage.ownerId}', 'upscale', 'queued', 1, '{"scale":2}', 'bench', 'local', 'local/upscale', now()
    from generate_series(1, ${rows})`);
  const ids = (await stage.query<{ id: string }>("select id from jobs")).map(({ id }) => id);
  const sides = openSides(stage.databaseUrl);
  const lines: string[] = [];
  for (const [name, work] of Object.entries(works)) {
    const readings = await readRounds(sides, (db, call) => work(db, ids[call % rows] ?? ""));
    lines.push(name, ...sides.map((side, at) => describe(side.name, readings[at] ?? [], readings[0] ?? [])));
  }
  for (const side of sides) await side.close();
  await stage.close();
  return lines;
}

/** The order turns, so that no side always meets the other's leftovers; the first round warms up and is dropped. */
async function readRounds(
  sides: readonly Side[],
  work: (db: AnyDb, call: number) => Promise<unknown>,
): Promise<readonly (readonly Reading[])[]> {
  const readings = sides.map((): Reading[] => []);
  for (let round = 0; round <= rounds; round += 1) {
    const turned = [...sides.keys()].map((at) => (at + round) % sides.length);
    for (const at of turned) {
      const { db } = sides[at] ?? {};
      if (db) readings[at]?.push(await measure((call) => work(db, call)));
    }
  }
  return readings.map((own) => own.slice(1));
}

function describe(name: string, own: readonly Reading[], ours: readonly Reading[]): string {
  const ratios = own.map(({ perSecond }, round) => perSecond / (ours[round]?.perSecond ?? Number.NaN));
  const rate = quantile(
    own.map(({ perSecond }) => perSecond),
    0.5,
  );
  const cpu = quantile(
    own.map(({ cpuUs }) => cpuUs),
    0.5,
  );
  return `  ${name}: ${show(rate, 0)}/s, ${showRatio(summarise(ratios))} of ours, ${show(cpu, 0)} µs of CPU a call`;
}
