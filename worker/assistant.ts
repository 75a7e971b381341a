import {
  capture,
  completeQuestion,
  completeStopped,
  endStage,
  failQuestion,
  findDueQuestions,
  findEnds,
  handBackStage,
  leaseOf,
  recoverQuestions,
  type QuestionRow,
  QuestionLost,
  type Stage,
  stageAt,
} from "@atelier/server/assistant";
import { isDatabaseAway } from "@atelier/server/db";
import { alertAdmins } from "@atelier/server/deliveries";
import { persist } from "@atelier/server/leases";
import type { Services } from "@atelier/server/services";
import { type Loop, startLoop } from "./base/loop.ts";
import { createSlots } from "./base/slots.ts";
import type { Incarnation } from "./base/index.ts";

/** Loaded with the first question: the packages of the models take a tenth of a second and 50 MB. */
const loadStages = () => import("@atelier/server/assistant/stages");

const stopReason = "the user stopped the answer";

/** A stage that this worker has. */
interface Busy {
  /** The user stops the answer. */
  readonly stop: AbortController;
  /** Another worker has the question, or it is gone. */
  readonly lost: AbortController;
}

/**
 * Answers questions: takes the next stage of each question that is told or found, at most `assistant.slots` at once. Every
 * worker does; of several one wins each stage. A stage whose worker died is given back by the sweep of any other.
 */
export function startAssistant(services: Services, incarnation: Incarnation): Pick<Loop, "stop"> {
  const { slots, sweepMs } = services.config.assistant;
  const stopped = new AbortController();
  const busy = createSlots<Busy>({ max: slots, onFree: () => sweep.wake() });

  const begin = (runId: string, stage: Stage) => {
    const [stop, lost] = [new AbortController(), new AbortController()];
    const signals = { stopped: stopped.signal, stop: stop.signal, lost: lost.signal };
    busy.begin(runId, { stop, lost }, () =>
      workOn({ services, incarnation, ...signals }, runId, stage).catch((error: unknown) => {
        services.log.warn({ err: error, runId }, "a stage of the assistant could not be done, trying again");
      }),
    );
  };
  const close = services.hints.subscribe((message) => {
    if (message.type === "stop") busy.get(message.runId)?.stop.abort(new Error(stopReason));
    if (message.type !== "run") return;
    const stage = stageAt(message.status);
    if (stage) begin(message.runId, stage);
  });
  const sweep = startLoop(services.log, "assistant", async () => {
    const nodeId = incarnation.current()?.id ?? null;
    await recoverQuestions(services, { nodeId, busyIds: () => busy.ids() });
    const ends = await findEnds(services, { nodeId, busyIds: busy.ids() });
    for (const id of ends.stopped) busy.get(id)?.stop.abort(new Error(stopReason));
    for (const id of ends.lost) busy.get(id)?.lost.abort(new QuestionLost());
    const due = busy.free() > 0 ? await findDueQuestions(services, slots + busy.size) : [];
    for (const run of due) {
      const stage = stageAt(run.status);
      if (stage) begin(run.id, stage);
    }
    return sweepMs;
  });
  return {
    async stop() {
      close();
      const ended = busy.close();
      stopped.abort(new Error("the process stops"));
      await sweep.stop();
      await ended;
    },
  };
}

interface Work {
  readonly services: Services;
  readonly incarnation: Incarnation;
  /** The process stops: the stage is handed back. */
  readonly stopped: AbortSignal;
  readonly stop: AbortSignal;
  readonly lost: AbortSignal;
}

/** Takes a stage and goes on with the next ones of the question, so that most questions stay in one worker. */
async function workOn(work: Work, runId: string, first: Stage): Promise<void> {
  const { services, incarnation } = work;
  for (let stage: Stage | null = first; stage;) {
    const nodeId = incarnation.current()?.id;
    const run: QuestionRow | null = nodeId ? await capture(services, { runId, stage, nodeId }) : null;
    if (!run) return;
    const next: QuestionRow | null =
      run.stopRequestedAt === null ? await doStage(work, run, stage) : await endStopped(work, run);
    stage = next && stageAt(next.status);
  }
}

/** Ends a question that its user stopped. */
async function endStopped({ services }: Work, run: QuestionRow): Promise<null> {
  await completeStopped(services, leaseOf(run));
  return null;
}

/** Does a captured stage and stores how it ended. Null when the question goes no further here. */
async function doStage(work: Work, run: QuestionRow, stage: Stage): Promise<QuestionRow | null> {
  const { services, stopped } = work;
  const log = services.log.child({ runId: run.id, stage: stage.name });
  const own = { ...services, log };
  try {
    return await runStage({ ...work, services: own }, run, stage);
  } catch (error) {
    const lease = leaseOf(run);
    if (error instanceof QuestionLost) return null;
    if (work.stop.aborted) return endStopped(work, run);
    // What cannot be written now the sweep of this worker gives back.
    if (stopped.aborted || isDatabaseAway(error)) await handBackStage(own, lease, stage);
    else await failQuestion(own, lease, await failureOf(own, error, stage));
    return null;
  }
}

async function runStage(
  { services, stopped, stop, lost }: Work,
  run: QuestionRow,
  stage: Stage,
): Promise<QuestionRow | null> {
  const stages = await loadStages();
  const lease = leaseOf(run);
  if (stage.name === "responder") {
    const signal = AbortSignal.any([stopped, lost]);
    const answer = await stages.respond(services, run, { signal, stop });
    return persist(() => completeQuestion(services, lease, answer), { signal: stopped });
  }
  const set =
    stage.name === "analyzer"
      ? { analysis: await stages.analyze(services, run, AbortSignal.any([stopped, stop, lost])) }
      : { context: await stages.assemble(services, run) };
  return persist(() => endStage(services, lease, { stage, set }), { signal: stopped });
}

/** What the user reads. Anything but a failed call of a model is a fault of the studio: the log has it all. */
async function failureOf(services: Services, error: unknown, stage: Stage) {
  const { ModelError } = await loadStages();
  if (error instanceof ModelError) {
    services.log.warn({ err: error }, "a question failed");
    return { code: error.class, message: error.message };
  }
  services.log.error({ err: error }, `the ${stage.name} failed`);
  void alertAdmins(services, {
    code: `assistant_${stage.name}`,
    text: `The ${stage.name} of the assistant failed in a way that is not known: ${nameOf(error)}.`,
  });
  return {
    code: "internal",
    message: "Something went wrong in the studio. The admin finds the reason in the log.",
  };
}

/** The kind of an error alone: messages may repeat what users wrote. */
const nameOf = (error: unknown) => (error instanceof Error ? error.name : typeof error);
