import { buildGraph, builtInWorkflows } from "@atelier/server/workflows";
import type { Backend } from "./stage.ts";
import { interleave, quantile, show, showRatio, summarise } from "./start-and-throughput.ts";
import { openStudio, runBare, type StoryTimes, type Studio, studioWorkflow } from "./studio.ts";

/** How long a picture takes, and how often it is made. */
export interface StudioPlan {
  readonly stepMs: number;
  readonly steps: number;
  readonly rounds: number;
  readonly picturesPerRound: number;
}

export const quickPicture: StudioPlan = { stepMs: 1, steps: 4, rounds: 9, picturesPerRound: 8 };
export const slowPicture: StudioPlan = { stepMs: 100, steps: 20, rounds: 9, picturesPerRound: 3 };

interface Times {
  readonly totalMs: number[];
  readonly stories: StoryTimes[];
}

/** P4: submit to completed with the product's worker against a bare client of the same server, one picture after the other. */
export async function benchWholeStudio(backend: Backend, plan: StudioPlan): Promise<string[]> {
  const studio = await openStudio(backend, plan);
  const results = await interleave(plan.rounds, {
    ours: () => runOurs(studio, plan),
    reference: () => runReference(studio, plan),
  });
  await studio.close();
  const overheads = results.flatMap(({ ours, reference }) =>
    ours.totalMs.map((ms) => ms - quantile(reference.totalMs, 0.5)),
  );
  const ratios = results.map(
    ({ ours, reference }) => quantile(ours.totalMs, 0.5) / quantile(reference.totalMs, 0.5),
  );
  const ours = results.flatMap((round) => round.ours.totalMs);
  const bare = results.flatMap((round) => round.reference.totalMs);
  const stories = results.flatMap((round) => round.ours.stories);
  return [
    `submit to completed, ratio to a bare client: ${showRatio(summarise(ratios))}`,
    `overhead p50 ${show(quantile(overheads, 0.5), 1)} ms, p95 ${show(quantile(overheads, 0.95), 1)} ms`,
    `ours p50 ${show(quantile(ours, 0.5), 1)} ms, p95 ${show(quantile(ours, 0.95), 1)} ms; bare client p50 ${show(quantile(bare, 0.5), 1)} ms, p95 ${show(quantile(bare, 0.95), 1)} ms`,
    `stages at p50: ${describeStages(stories)}`,
  ];
}

async function runOurs(studio: Studio, { steps, picturesPerRound }: StudioPlan): Promise<Times> {
  const times: Times = { totalMs: [], stories: [] };
  for (let count = 0; count < picturesPerRound; count += 1) {
    const beganMs = performance.now();
    const story = await studio.until(await studio.accept(steps), "completed", "failed");
    if (story.status === "failed") throw new Error("a picture failed");
    times.totalMs.push(performance.now() - beganMs);
    times.stories.push(story);
  }
  return times;
}

async function runReference({ serverUrl }: Studio, plan: StudioPlan): Promise<Times> {
  const workflow = builtInWorkflows().find(({ name }) => name === studioWorkflow);
  if (!workflow) throw new Error(`there is no workflow ${studioWorkflow}`);
  const times: Times = { totalMs: [], stories: [] };
  for (let count = 0; count < plan.picturesPerRound; count += 1) {
    const { steps } = plan;
    const seed = Math.trunc(Math.random() * 2 ** 50);
    const params = { prompt: "a red chair", negativePrompt: "", width: 512, height: 512, guidance: 8 };
    const graph = buildGraph(workflow, {
      params: { ...params, steps, seed },
      images: {},
      prefix: "bare/out",
    });
    const beganMs = performance.now();
    await runBare({ url: serverUrl, graph });
    times.totalMs.push(performance.now() - beganMs);
  }
  return times;
}

function describeStages(stories: readonly StoryTimes[]): string {
  const stage = (from: keyof StoryTimes, to: keyof StoryTimes) => {
    const spans = stories.map((story) => Number(story[to]) - Number(story[from]));
    return show(quantile(spans, 0.5), 0);
  };
  return [
    `created to queued ${stage("createdAt", "queuedAt")}`,
    `to claimed ${stage("queuedAt", "claimedAt")}`,
    `to started ${stage("claimedAt", "startedAt")}`,
    `to completed ${stage("startedAt", "endedAt")} ms`,
  ].join(", ");
}
