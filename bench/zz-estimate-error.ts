import { setTimeout as sleep } from "node:timers/promises";
import { type Job, submit } from "@atelier/server/jobs";
import { newId } from "@atelier/server/platform";
import { addOwner, type Backend, insertImage, openStage, type Stage, startSweeper } from "./stage.ts";
import { quantile, show } from "./start-and-throughput.ts";
import { startLightNode } from "./studio.ts";
import { createRandom } from "./random.ts";

const slots = 4;
const owners = 8;
const loadMs = 100_000;
/** Jobs of these kinds take this long in the middle; runs of one kind vary as much as pictures of one workflow do. */
const kinds = [
  { kind: "upscale", need: "local/upscale", medianMs: 300, share: 0.6 },
  { kind: "remove_background", need: "local/remove_background", medianMs: 900, share: 0.3 },
  { kind: "inpaint", need: "local/inpaint", medianMs: 2_500, share: 0.1 },
] as const;
const spread = 0.4;
/** Of what the slots can do; people come in crowds, so that lines grow and empty. */
const busy = 0.9;
const crowd = 12;
/** Runs of each kind before the load starts: estimates come from past runs. */
const learning = 10;

/** The same crowds in each run, so that two versions are measured by one load. */
const seed = 7;

interface Row {
  readonly lowMs: number;
  readonly highMs: number;
  readonly waitMs: number;
  readonly runLowMs: number;
  readonly runHighMs: number;
  readonly runMs: number;
  /** Jobs that were open when it was submitted: what a plain line would count. */
  readonly openBefore: number;
  readonly [name: string]: unknown;
}

interface User {
  readonly userId: string;
  readonly image: string;
  /** Has the size of the picture. */
  readonly mask: string;
}

/** Estimated against real waiting times over a mixed load, beside a plain guess. */
export async function benchEstimateError(backend: Backend): Promise<string[]> {
  const stage = await openStage(backend);
  const { services } = stage;
  const users: User[] = [];
  for (let count = 0; count < owners; count += 1) users.push(await addUser(stage));
  const sweeper = startSweeper(services);
  const node = await startLightNode(services, {
    name: newId(),
    slots,
    needs: kinds.map(({ need }) => need),
    run: (job) => sleep(drawRunMs(job.kind)),
  });
  for (const { kind } of kinds)
    for (let count = 0; count < learning; count += 1) await submitOne(stage, { kind, user: users[0] });
  await untilDone(stage);
  await submitCrowds(stage, users);
  await untilDone(stage);
  const rows = await readRows(stage);
  await sweeper.stop();
  await node.close();
  await stage.close();
  return describe(rows);
}

async function untilDone(stage: Stage): Promise<void> {
  while ((await stage.query("select 1 from jobs where status <> 'completed' limit 1")).length > 0)
    await sleep(200);
}

async function addUser(stage: Stage): Promise<User> {
  const { services } = stage;
  const userId = await addOwner(services);
  const [image, mask] = [await insertImage(services, userId), await insertImage(services, userId)];
  await stage.query("update images set role = 'mask' where id = $1", [mask]);
  return { userId, image, mask };
}

/** Each crowd is one user's; the next comes when the slots could be done with this one but for `busy`. */
async function submitCrowds(stage: Stage, users: readonly User[]): Promise<void> {
  const random = createRandom(seed);
  const endMs = performance.now() + loadMs;
  while (performance.now() < endMs) {
    const size = 1 + Math.trunc(random() * (2 * crowd - 1));
    const kind = drawKind(random());
    const user = users[Math.trunc(random() * users.length)];
    for (let count = 0; count < size; count += 1) await submitOne(stage, { kind, user });
    await sleep((-Math.log(1 - random()) * size * meanRunMs()) / slots / busy);
  }
}

type Kind = (typeof kinds)[number]["kind"];

async function submitOne({ services }: Stage, { kind, user }: { kind: Kind; user: User | undefined }) {
  if (!user) throw new Error("nobody submits");
  const { userId, image, mask } = user;
  const inputs = kind === "inpaint" ? { image, mask } : { image };
  await submit(services, { kind, inputs }, { submitter: { userId, isGuest: false } });
}

function readRows(stage: Stage): Promise<Row[]> {
  return stage.query<Row>(`
    select (estimate -> 'waitMs' ->> 0)::float8 as "lowMs", (estimate -> 'waitMs' ->> 1)::float8 as "highMs",
      (estimate -> 'runMs' ->> 0)::float8 as "runLowMs", (estimate -> 'runMs' ->> 1)::float8 as "runHighMs",
      extract(epoch from started_at - created_at)::float8 * 1000 as "waitMs",
      extract(epoch from ended_at - started_at)::float8 * 1000 as "runMs",
      (select count(*)::int from jobs b where b.created_at < j.created_at and b.ended_at > j.created_at) as "openBefore"
    from jobs j order by created_at`);
}

function drawKind(place: number): Kind {
  if (place < kinds[0].share) return kinds[0].kind;
  return place < kinds[0].share + kinds[1].share ? kinds[1].kind : kinds[2].kind;
}

/** Log-normal, by Box and Muller. */
function drawRunMs(kind: Job["kind"]): number {
  const { medianMs } = kinds.find((known) => known.kind === kind) ?? kinds[0];
  const normal = Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
  return medianMs * Math.exp(spread * normal);
}

function meanRunMs(): number {
  return kinds.reduce((sum, { medianMs, share }) => sum + medianMs * share * Math.exp(spread ** 2 / 2), 0);
}

/** Dispatch and claim of a job that need not wait; a tenth of the shortest run. */
const slackMs = 50;

function describe(all: readonly Row[]): string[] {
  const rows = all.slice(learning * kinds.length);
  const share = (of: readonly Row[], holds: (row: Row) => boolean) =>
    `${show((100 * of.filter(holds).length) / of.length, 0)} %`;
  const isInside = ({ waitMs, lowMs, highMs }: Row) =>
    waitMs >= lowMs - slackMs && waitMs <= highMs + slackMs;
  const meanRun = rows.reduce((sum, { runMs }) => sum + runMs, 0) / rows.length;
  const errors = rows.map(({ waitMs, lowMs, highMs }) => Math.abs(waitMs - (lowMs + highMs) / 2));
  const plain = rows.map(({ waitMs, openBefore }) =>
    Math.abs(waitMs - (Math.max(0, openBefore - slots + 1) * meanRun) / slots),
  );
  const waited = rows.filter(({ waitMs }) => waitMs > 2 * slackMs);
  const signed = waited.map(({ waitMs, lowMs, highMs }) => waitMs - (lowMs + highMs) / 2);
  const p = (values: readonly number[], part: number) => show(quantile(values, part), 0);
  return [
    `${rows.length} jobs, of which ${waited.length} waited; waits p50 ${p(
      waited.map(({ waitMs }) => waitMs),
      0.5,
    )} ms, p95 ${p(
      waited.map(({ waitMs }) => waitMs),
      0.95,
    )} ms`,
    `wait inside the range: ${share(rows, isInside)} of all, ${share(waited, isInside)} of those that waited (eight of ten are meant)`,
    `of those that waited, below the range: ${share(waited, ({ waitMs, lowMs }) => waitMs < lowMs - slackMs)}, above: ${share(waited, ({ waitMs, highMs }) => waitMs > highMs + slackMs)}; wait less the middle of the range p50 ${p(signed, 0.5)} ms`,
    `absolute error of the middle, median: ${p(errors, 0.5)} ms (p90 ${p(errors, 0.9)}); open jobs x mean run / slots: ${p(plain, 0.5)} ms (p90 ${p(plain, 0.9)})`,
    `ZZ above with a told wait of zero: ${share(waited, ({ highMs, waitMs }) => highMs === 0 && waitMs > slackMs)}; above by more than a half: ${share(waited, ({ waitMs, highMs }) => waitMs > highMs * 1.5 + slackMs)}; own waits short ${share(waited, ({ waitMs }) => waitMs < 1000)}`,
    `run inside its range: ${share(rows, ({ runMs, runLowMs, runHighMs }) => runMs >= runLowMs && runMs <= runHighMs)} (eight of ten are meant)`,
  ];
}
