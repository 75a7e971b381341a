import { setTimeout as sleep } from "node:timers/promises";
import { submit } from "@atelier/server/jobs";
import { newId } from "@atelier/server/platform";
import { addOwner, type Backend, insertImage, openStage, type Stage, startSweeper } from "./stage.ts";
import {
  createLoop,
  type LoopJob,
  quantile,
  rateOf,
  show,
  showRatio,
  summarise,
} from "./start-and-throughput.ts";
import { startNaive } from "./stock.ts";
import { startLightNode } from "./studio.ts";

const nodeCounts = [1, 2, 4, 8, 16];
const owners = 4;

/** How long the jobs run, and how long and how often each number of nodes is watched. */
export interface ScaleOutPlan {
  readonly runMs: number;
  readonly warmMs: number;
  readonly windowMs: number;
  readonly rounds: number;
  /** Jobs waiting for each node. */
  readonly waitingPerNode: number;
}

export const shortJobs: ScaleOutPlan = {
  runMs: 50,
  warmMs: 700,
  windowMs: 2_000,
  rounds: 5,
  waitingPerNode: 4,
};
export const longJobs: ScaleOutPlan = {
  runMs: 2_000,
  warmMs: 9_000,
  windowMs: 12_500,
  rounds: 1,
  waitingPerNode: 2,
};

interface Measured {
  readonly rate: number;
  readonly waitsMs: readonly number[];
}

type Side = (nodes: number) => Promise<Measured>;

/** P3: jobs per second with 1 to 16 nodes of one slot against the ideal and stock BullMQ, and whether anybody starves. */
export async function benchScaleOut(backend: Backend, plan: ScaleOutPlan): Promise<string[]> {
  const stage = await openStage(backend);
  const ownersWithImage: { readonly ownerId: string; readonly image: string }[] = [];
  for (let count = 0; count < owners; count += 1) {
    const ownerId = await addOwner(stage.services);
    ownersWithImage.push({ ownerId, image: await insertImage(stage.services, ownerId) });
  }
  const nodeServices = await Promise.all(
    Array.from({ length: Math.max(...nodeCounts) }, () => stage.openAnother()),
  );
  const sweeper = startSweeper(stage.services);
  const ours: Side = (nodes) =>
    measureOurs(stage, { nodes: nodeServices.slice(0, nodes), owners: ownersWithImage, plan });
  const naive: Side = (nodes) => measureNaive(stage, nodes, plan);
  await ours(1);
  const rounds: { ours: Measured[]; naive: Measured[] }[] = [];
  for (let round = 0; round < plan.rounds; round += 1) {
    const figures = { ours: [] as Measured[], naive: [] as Measured[] };
    for (const nodes of nodeCounts) {
      figures.ours.push(await ours(nodes));
      figures.naive.push(await naive(nodes));
    }
    rounds.push(figures);
  }
  await sweeper.stop();
  await stage.close();
  return nodeCounts.map((nodes, place) => describe(rounds, { nodes, place, plan }));
}

interface OursInput {
  readonly nodes: readonly Stage["services"][];
  readonly owners: readonly { readonly ownerId: string; readonly image: string }[];
  readonly plan: ScaleOutPlan;
}

async function measureOurs(stage: Stage, { nodes, owners: users, plan }: OursInput): Promise<Measured> {
  let turn = 0;
  const accept = () => {
    const user = users[turn++ % users.length];
    if (!user) throw new Error("nobody submits");
    const request = { kind: "upscale", inputs: { image: user.image } };
    return submit(stage.services, request, { submitter: { userId: user.ownerId, isGuest: false } });
  };
  const loop = createLoop({ ...plan, open: nodes.length * (1 + plan.waitingPerNode), accept });
  const started = await Promise.all(
    nodes.map((own, node) =>
      startLightNode(own, {
        name: `bench-${newId()}`,
        slots: 1,
        run: () => sleep(plan.runMs),
        onCompleted: (_id, job) =>
          loop.ended({
            node,
            waitMs: (job.claimedAt?.getTime() ?? 0) - job.createdAt.getTime(),
            endedAtMs: performance.now(),
          }),
      }),
    ),
  );
  const jobs = await loop.run();
  await Promise.all(started.map((node) => node.close()));
  await stage.query("delete from jobs where status in ('pending', 'queued')");
  return measuredOf(jobs);
}

async function measureNaive(stage: Stage, nodes: number, plan: ScaleOutPlan): Promise<Measured> {
  const accept = () => naive.add(newId());
  const loop = createLoop({ ...plan, open: nodes * (1 + plan.waitingPerNode), accept });
  const naive = await startNaive(stage, {
    slots: 1,
    nodes,
    name: `naive-${newId()}`,
    async onJob(_id, { node, waitMs }) {
      await sleep(plan.runMs);
      // It ends when BullMQ has written so; what follows the processor belongs to the next cycle of the same node.
      loop.ended({ node, waitMs, endedAtMs: performance.now() });
    },
  });
  const jobs = await loop.run();
  await naive.close();
  return measuredOf(jobs);
}

function measuredOf(jobs: readonly LoopJob[]): Measured {
  return { rate: rateOf(jobs), waitsMs: jobs.map(({ waitMs }) => waitMs) };
}

interface Row {
  readonly nodes: number;
  readonly place: number;
  readonly plan: ScaleOutPlan;
}

function describe(
  rounds: readonly { readonly ours: readonly Measured[]; readonly naive: readonly Measured[] }[],
  { nodes, place, plan }: Row,
): string {
  const ideal = (nodes * 1_000) / plan.runMs;
  const rates = (side: "ours" | "naive") => rounds.map((round) => round[side][place]?.rate ?? Number.NaN);
  const growth = (side: "ours" | "naive") =>
    summarise(
      rounds.map((round) => (round[side][place]?.rate ?? 0) / (2 * (round[side][place - 1]?.rate ?? 0))),
    );
  const starved = summarise(
    rounds.map((round) => {
      const waits = round.ours[place]?.waitsMs ?? [];
      return Math.max(...waits) / quantile(waits, 0.5);
    }),
  );
  const middle = (side: "ours" | "naive") => quantile(rates(side), 0.5);
  const doubling =
    place === 0 ? "" : `; per doubling ${showRatio(growth("ours"))}, BullMQ ${show(growth("naive").median)}`;
  return (
    `${nodes} nodes: ${show(middle("ours"), 1)} of ${show(ideal, 1)} jobs/s (${show(middle("ours") / ideal)} of ideal), ` +
    `BullMQ ${show(middle("naive"), 1)}${doubling}; longest wait / median ${showRatio(starved)}`
  );
}
