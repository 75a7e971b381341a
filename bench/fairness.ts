import { setTimeout as sleep } from "node:timers/promises";
import { submit } from "@atelier/server/jobs";
import { newId } from "@atelier/server/platform";
import { addOwner, type Backend, insertImage, openStage, type Stage, startSweeper } from "./stage.ts";
import { interleave, quantile, show, showRatio, summarise } from "./start-and-throughput.ts";
import { startNaive } from "./stock.ts";
import { startLightNode } from "./studio.ts";

const rounds = 9;
const slots = 4;
const runMs = 20;
/** Each user's jobs; they come in this order, the greediest first. */
const sizes = [100, 100, 10, 10, 1, 1];

/** Users in the order in which their jobs were started. */
type Starts = readonly number[];

interface User {
  readonly ownerId: string;
  readonly image: string;
}

/** How even the shares of users with 1, 10 and 100 jobs are while they compete, against one plain line. */
export async function benchFairness(backend: Backend): Promise<string[]> {
  const stage = await openStage(backend);
  const users: User[] = [];
  for (const _ of sizes) {
    const ownerId = await addOwner(stage.services);
    users.push({ ownerId, image: await insertImage(stage.services, ownerId) });
  }
  const sweeper = startSweeper(stage.services);
  const results = await interleave(rounds, {
    ours: () => runOurs(stage, users),
    reference: () => runFifo(stage),
  });
  await sweeper.stop();
  await stage.close();
  const line = (what: string, of: (round: { ours: Starts; reference: Starts }) => Starts) => {
    const starts = results.map(of);
    const first = (size: number) =>
      quantile(
        starts.map((each) => meanPlace(each, size)),
        0.5,
      );
    return `${what}: fairness index ${showRatio(summarise(starts.map(jainOf)))}; a job of a user with 1, 10, 100 jobs starts on average as number ${show(first(1), 0)}, ${show(first(10), 0)}, ${show(first(100), 0)} of ${starts[0]?.length}`;
  };
  return [line("fair pick", ({ ours }) => ours), line("one line (BullMQ)", ({ reference }) => reference)];
}

function listed(): number[] {
  return sizes.flatMap((size, user) => Array.from({ length: size }, () => user));
}

async function runOurs(stage: Stage, users: readonly User[]): Promise<Starts> {
  const { services } = stage;
  const userByJob = new Map<string, number>();
  for (const user of listed()) {
    const { ownerId, image } = users[user] ?? { ownerId: "", image: "" };
    const request = { kind: "upscale", inputs: { image } };
    const { id } = await submit(services, request, { submitter: { userId: ownerId, isGuest: false } });
    userByJob.set(id, user);
  }
  const starts: number[] = [];
  const done = Promise.withResolvers<void>();
  let left = userByJob.size;
  const node = await startLightNode(services, {
    name: newId(),
    slots,
    run: () => sleep(runMs),
    onStarted: (id) => starts.push(userByJob.get(id) ?? -1),
    onCompleted() {
      left -= 1;
      if (left === 0) done.resolve();
    },
  });
  await done.promise;
  await node.close();
  return starts;
}

async function runFifo(stage: Stage): Promise<Starts> {
  const name = `fifo-${newId()}`;
  const feeder = await startNaive(stage, { name, slots, nodes: 0, onJob: () => {} });
  const userByJob = new Map<string, number>();
  for (const user of listed()) {
    const id = newId();
    userByJob.set(id, user);
    await feeder.add(id);
  }
  const starts: number[] = [];
  const done = Promise.withResolvers<void>();
  let left = userByJob.size;
  const worker = await startNaive(stage, {
    name,
    slots,
    async onJob(id) {
      starts.push(userByJob.get(id) ?? -1);
      await sleep(runMs);
      left -= 1;
      if (left === 0) done.resolve();
    },
  });
  await done.promise;
  await worker.close();
  await feeder.close();
  return starts;
}

/**
 * Jain's index over what each user got of the share that was due: each start while two or more users have work is due to
 * them in equal parts. 1 when all got the same part of their due.
 */
function jainOf(starts: Starts): number {
  const left = [...sizes];
  const due = sizes.map(() => 0);
  const got = sizes.map(() => 0);
  for (const user of starts) {
    const competing = left.flatMap((count, index) => (count > 0 ? [index] : []));
    if (competing.length > 1) {
      for (const index of competing) due[index] = (due[index] ?? 0) + 1 / competing.length;
      got[user] = (got[user] ?? 0) + 1;
    }
    left[user] = (left[user] ?? 0) - 1;
  }
  const shares = got.map((count, user) => count / (due[user] ?? 1));
  const sum = shares.reduce((total, share) => total + share, 0);
  const squares = shares.reduce((total, share) => total + share ** 2, 0);
  return sum ** 2 / (shares.length * squares);
}

/** On average, the place at which jobs of users with that many jobs were started, from 1. */
function meanPlace(starts: Starts, size: number): number {
  const places = starts.flatMap((user, place) => (sizes[user] === size ? [place + 1] : []));
  return places.reduce((sum, place) => sum + place, 0) / places.length;
}
