import { readFileSync } from "node:fs";
import { sql } from "drizzle-orm";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { addNode, addOwner } from "@atelier/testing/jobs";
import {
  type Cap,
  caps,
  type Line,
  lines,
  moneyTable,
  outcomeOf,
  policies,
  type State,
  states,
} from "@atelier/testing/money";
import { openJobScene } from "@atelier/testing/scenes";
import { type CloudPolicy, schema, tiers } from "../db/index.ts";
import type { Need } from "../engines.ts";
import { newId } from "../platform/index.ts";
import { setUserPolicy } from "../scheduling/index.ts";
import { setCaps } from "../providers/index.ts";
import { builtInWorkflows } from "../workflows/index.ts";
import { estimate, type EstimateAnswer } from "./estimate.ts";
import { sizeClassesOf } from "./params.ts";
import { parseSubmit } from "./request.ts";

const scene = openJobScene({ isEmptied: true });
const request = { kind: "text_to_image", params: { prompt: "a chair" } };
const own = "comfyui/t2i_sdxl";
const shop = "cloud/nano-banana";
const queue = "gpu-high";
const unmeasured = "comfyui/t2i_without_past_runs";
const workflow = builtInWorkflows().find(({ name }) => own.endsWith(`/${name}`)) ?? null;
const sizeClassOf = sizeClassesOf(parseSubmit(request), new Map());

interface Row {
  readonly need: Need;
  readonly ownerId: string;
  readonly count: number;
  readonly queue?: string;
  readonly tier?: number;
  /** A completed run of so long; else the rows wait. */
  readonly tookMs?: number;
}

async function addRows({ need, ownerId, count, tookMs, ...more }: Row): Promise<void> {
  const ended = tookMs === undefined ? {} : { status: "completed" as const, endedAt: sql`now()` };
  const startedAt = tookMs === undefined ? null : sql`now() - ${tookMs} * interval '1 millisecond'`;
  const rows = Array.from({ length: count }, () => ({
    id: newId(),
    ownerId,
    kind: "text_to_image" as const,
    status: "pending" as const,
    tier: more.tier ?? tiers.normal,
    params: {},
    queue: more.queue ?? queue,
    engine: "comfyui" as const,
    need,
    sizeClass: sizeClassOf({ workflow: need === shop ? null : workflow }),
    startedAt,
    ...ended,
  }));
  await scene.services.db.insert(schema.jobs).values(rows);
}

/** Users with each policy; those of `capped` may spend nothing. */
type Users = Readonly<Record<CloudPolicy, { readonly free: string; readonly capped: string }>>;
let users: Users;

beforeAll(async () => {
  const { services } = scene;
  const added = await Promise.all(
    policies.map(async (policy) => {
      const [free, capped] = [(await addOwner(services)).userId, (await addOwner(services)).userId];
      for (const user of [free, capped]) await setUserPolicy(services.db, user, policy);
      await setCaps(services.db, capped, { dailyUsd: 0, monthlyUsd: 0 });
      return [policy, { free, capped }] as const;
    }),
  );
  // Safe: made of all policies.
  users = Object.fromEntries(added) as unknown as Users;
});

const ask = (userId: string): Promise<EstimateAnswer> =>
  estimate(scene.services, request, { userId, isGuest: false });

/** Makes the own machines and their line as the table names them. */
const makeLine: Record<Line, () => Promise<void>> = {
  idle: () => addOwn({ waiting: 0 }),
  short: () => addOwn({ waiting: 20 }),
  long: () => addOwn({ waiting: 100 }),
  unknown: () => addOwn({ waiting: 100, need: unmeasured }),
  lowTier: () => addOwn({ waiting: 100, tier: tiers.low }),
  otherNeed: () => addOwn({ waiting: 100, need: "comfyui/edit_qwen" }),
  restarting: () => addAway("10 seconds"),
  dead: () => addAway("10 minutes"),
  none: () => Promise.resolve(),
};

interface OwnLine {
  readonly waiting: number;
  readonly need?: Need;
  readonly tier?: number;
}

async function addOwn({ waiting, need = own, tier = tiers.high }: OwnLine): Promise<void> {
  const ownerId = scene.owner.userId;
  await addNode(scene.services, { queue, needs: [own, unmeasured] });
  await addRows({ need: own, ownerId, count: 6, tookMs: 2_000 });
  if (need !== own && need !== unmeasured) await addRows({ need, ownerId, count: 6, tookMs: 2_000 });
  if (waiting > 0) await addRows({ need, ownerId, count: waiting, tier });
}

async function addAway(since: string): Promise<void> {
  await addOwn({ waiting: 0 });
  await scene.services.db.execute(
    sql`update nodes set state = 'lost', seen_at = now() - ${since}::interval where capability ->> 'providers' is null`,
  );
}

/** The state of the provider: of Google, whose price is known, or of fal, whose price is not. */
async function setState(state: State): Promise<void> {
  const { db } = scene.services;
  await db.execute(sql`delete from provider_attempts`);
  const provider = state === "unpriced" ? "fal" : "google";
  await db.execute(sql`update nodes set capability = capability || ${JSON.stringify({ providers: [provider] })}::jsonb
    where capability ? 'providers'`);
  if (state === "busy") await addAttempts({ count: 4, state: "accepted", costUsd: 0 });
  if (state === "cooling") await addAttempts({ count: 1, state: "failed", costUsd: 0 });
}

interface AttemptRow {
  readonly count: number;
  readonly state: "accepted" | "failed" | "succeeded";
  readonly costUsd: number;
}

async function addAttempts({ count, state, costUsd }: AttemptRow): Promise<void> {
  const ended = state === "accepted" ? {} : { endedAt: sql`now()` };
  const failed = state === "failed" ? { errorClass: "transient" as const } : {};
  const rows = Array.from({ length: count }, () => ({
    id: newId(),
    ownerId: scene.owner.userId,
    provider: "google" as const,
    keyId: state === "succeeded" ? "a rested key" : "the key",
    model: "nano-banana",
    endpoint: "e",
    token: newId(),
    state,
    costUsd,
    ...ended,
    ...failed,
  }));
  await scene.services.db.insert(schema.providerAttempts).values(rows);
}

/** What the answer says in the words of the table. */
function seen(answer: EstimateAnswer) {
  if (!answer.isPossible) return { runs: "nobody", priceUsd: 0, told: answer.reason };
  const runs = answer.engine === "cloud" ? "provider" : "home";
  return { runs, priceUsd: answer.priceUsd, told: answer.note };
}

/** The cells of a line that differ from the table: what is said instead. */
async function wrongCells(line: Line, { cap, state }: { cap: Cap; state: State }) {
  const wrong: object[] = [];
  for (const policy of policies) {
    const user = users[policy][cap === "user" ? "capped" : "free"];
    const expected = outcomeOf(line, policy, { cap, state });
    const answer = seen(await ask(user));
    const isTold = expected.told === null ? answer.told === null : expected.told.test(answer.told ?? "");
    const isRight = isTold && answer.runs === expected.runs && answer.priceUsd === expected.priceUsd;
    if (!isRight) wrong.push({ policy, cap, state, answer, expected });
  }
  return wrong;
}

describe("the money table", () => {
  beforeEach(async () => {
    const { services } = scene;
    const nodeId = await addNode(services, { queue: "cloud", slots: 4, needs: [shop] });
    await services.db.execute(
      sql`update nodes set capability = capability || '{"providers":["google"]}' where id = ${nodeId}`,
    );
  });
  // Safe: the keys of the tables.
  test.for(Object.keys(lines) as Line[])(
    "own line %s: who runs it, what it costs, what is told",
    async (line) => {
      await makeLine[line]();
      await addRows({ need: shop, ownerId: scene.owner.userId, count: 6, queue: "cloud", tookMs: 20_000 });
      const wrong: object[] = [];
      for (const state of Object.keys(states) as State[])
        for (const cap of caps) {
          await setState(state);
          if (cap === "studio") await addAttempts({ count: 1, state: "succeeded", costUsd: 1_000 });
          wrong.push(...(await wrongCells(line, { cap, state })));
        }
      expect(wrong).toEqual([]);
    },
  );
});

test("the documents have the same table", () => {
  const docs = readFileSync(new URL("../../docs/providers.md", import.meta.url), "utf8");
  expect(docs).toContain(moneyTable());
});
