import { newId } from "@atelier/server/platform";
import { interleave, quantile, show, showRatio, summarise } from "./rounds.ts";
import { createSignals } from "./signals.ts";
import { type Backend, openStage } from "./stage.ts";
import { startNaive } from "./stock.ts";
import { startZeroWork } from "./zero-work.ts";

const startRounds = 9;
const jobsPerRound = 30;

interface Times {
  /** Submit called to accepted, ms. */
  readonly acceptMs: number[];
  /** Submit called to the worker holding the job, ms. */
  readonly startedMs: number[];
}

/** P1: durable accept to started against a bare INSERT and `queue.add`, one job after the other, in interleaved rounds. */
export async function benchAcceptToStarted(backend: Backend): Promise<string[]> {
  const stage = await openStage(backend);
  const [started, ended] = [createSignals(), createSignals()];
  const product = await startZeroWork(stage, { slots: 1, onStarted: started.note, onCompleted: ended.note });
  const naive = await startNaive(stage, { slots: 1, onJob: started.note, onCompleted: ended.note });
  const run = async (accept: () => Promise<string>): Promise<Times> => {
    const times: Times = { acceptMs: [], startedMs: [] };
    for (let count = 0; count < jobsPerRound; count += 1) {
      const beganMs = performance.now();
      const id = await accept();
      times.acceptMs.push(performance.now() - beganMs);
      times.startedMs.push((await started.when(id)) - beganMs);
      await ended.when(id);
    }
    return times;
  };
  const results = await interleave(startRounds, {
    ours: () => run(() => product.accept()),
    reference: () =>
      run(async () => {
        const id = newId();
        await naive.accept(id);
        return id;
      }),
  });
  await naive.close();
  await product.close();
  await stage.close();
  const ratio = (share: number) =>
    summarise(
      results.map(
        ({ ours, reference }) => quantile(ours.startedMs, share) / quantile(reference.startedMs, share),
      ),
    );
  const all = results.flatMap(({ ours }) => ours.startedMs);
  const reference = results.flatMap((round) => round.reference.startedMs);
  return [
    `accept to started, ratio to INSERT + queue.add at p50: ${showRatio(ratio(0.5))}`,
    `the same at p95: ${showRatio(ratio(0.95))}`,
    `ours p50 ${show(quantile(all, 0.5), 1)} ms, p95 ${show(quantile(all, 0.95), 1)} ms; reference p50 ${show(quantile(reference, 0.5), 1)} ms, p95 ${show(quantile(reference, 0.95), 1)} ms`,
    `accept alone p95: ${show(
      quantile(
        results.flatMap(({ ours }) => ours.acceptMs),
        0.95,
      ),
      1,
    )} ms`,
  ];
}
