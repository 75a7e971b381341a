import { newId } from "@atelier/server/platform";
import { countCalls } from "./count-calls.ts";
import { interleave, show, showRatio, summarise } from "./rounds.ts";
import { type Backend, openStage } from "./stage.ts";
import { startNaive } from "./stock.ts";
import { startZeroWork } from "./zero-work.ts";

const throughputRounds = 3;
const jobs = 1_000;
const slots = 10;
const submitters = 10;

/** P2: accept to completed of 1,000 jobs without work against raw BullMQ add and process; statements per job counted. */
export async function benchThroughput(backend: Backend): Promise<string[]> {
  const stage = await openStage(backend);
  let left = 0;
  let done = () => {};
  const note = () => {
    left -= 1;
    if (left === 0) done();
  };
  const product = await startZeroWork(stage, { slots, onCompleted: note });
  const naive = await startNaive(stage, { slots, onJob: () => {}, onCompleted: note });
  const run = async (accept: () => Promise<unknown>): Promise<number> => {
    const finished = new Promise<void>((resolve) => {
      done = resolve;
    });
    left = jobs;
    const beganMs = performance.now();
    let toSubmit = jobs;
    await Promise.all(
      Array.from({ length: submitters }, async () => {
        while (toSubmit > 0) {
          toSubmit -= 1;
          await accept();
        }
      }),
    );
    await finished;
    return jobs / ((performance.now() - beganMs) / 1_000);
  };
  const ours = () => run(() => product.accept());
  const results = await interleave(throughputRounds, {
    ours,
    reference: () => run(() => naive.add(newId())),
  });
  const calls = await countCalls(async () => {
    await ours();
  });
  await naive.close();
  await product.close();
  await stage.close();
  const rate = summarise(results.map((round) => round.ours));
  const reference = summarise(results.map((round) => round.reference));
  return [
    `${jobs} jobs, accept to completed: ${show(rate.median, 0)} jobs/s; raw BullMQ add + process: ${show(reference.median, 0)} jobs/s`,
    `ratio: ${showRatio(summarise(results.map((round) => round.ours / round.reference)))}`,
    `per job: ${show(calls.sql / jobs, 1)} SQL statements, ${show(calls.redis / jobs, 1)} Redis commands`,
  ];
}
