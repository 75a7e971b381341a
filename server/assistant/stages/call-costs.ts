import { and, eq, isNull } from "drizzle-orm";
import { schema } from "../../db/index.ts";
import type { Services } from "../../services.ts";
import type { StageModel } from "../models.ts";
import type { ModelErrorClass } from "./model-errors.ts";

const { modelCalls } = schema;

export interface Usage {
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
}

const perMillion = 1_000_000;

/** The most that one step can cost, US dollars. */
export function mostUsd({ price, maxOutputTokens }: StageModel, inputTokens: number): number {
  return (inputTokens * price.inputUsd + maxOutputTokens * price.outputUsd) / perMillion;
}

export interface Steps {
  readonly noteStep: (usage: Usage, goesOn: boolean) => void;
  /** The model is at work on the next one, which may be paid for, however it ends. */
  readonly begin: () => void;
  /** Of all steps that have ended; null without one. */
  readonly usage: () => Usage | null;
  /** Theirs, and the most that the one can cost that failed with this class; null while none has ended. */
  readonly costUsd: (errorClass: string) => number | null;
}

/**
 * The steps of an answer with tools. The call is begun with the price of its first one, so that no cap refuses a question for steps
 * that seldom come; after each step what was spent and the next one count.
 */
export function startSteps(
  services: Pick<Services, "db" | "log">,
  {
    id,
    model,
    inputTokens,
  }: { readonly id: string; readonly model: StageModel; readonly inputTokens: number },
): Steps {
  let spentUsd = 0;
  let sent = inputTokens;
  let nextUsd = 0;
  let hasBegun = false;
  let usage: Usage | null = null;
  return {
    usage: () => usage,
    costUsd: (errorClass) =>
      usage === null ? null : spentUsd + (hasBegun || !unpaid.includes(errorClass) ? nextUsd : 0),
    begin: () => void (hasBegun = true),
    noteStep(step, goesOn) {
      hasBegun = false;
      spentUsd += costOf(model.price, step, null) ?? mostUsd(model, sent);
      const { inputTokens: read = sent, outputTokens: written = 0 } = step;
      sent = read + written;
      nextUsd = goesOn ? mostUsd(model, sent) : 0;
      usage = {
        inputTokens: (usage?.inputTokens ?? 0) + read,
        outputTokens: (usage?.outputTokens ?? 0) + written,
      };
      if (nextUsd > 0) void expectMore(services, id, spentUsd + nextUsd);
    },
  };
}

async function expectMore(
  services: Pick<Services, "db" | "log">,
  id: string,
  expectedUsd: number,
): Promise<void> {
  const isOpen = and(eq(modelCalls.id, id), isNull(modelCalls.endedAt));
  await services.db
    .update(modelCalls)
    .set({ expectedUsd })
    .where(isOpen)
    .catch((error: unknown) => services.log.debug({ err: error }, "what a step may cost was not stored"));
}

const unpaid: readonly (string | null)[] = [
  "rate_limited",
  "refused",
  "over_limit",
  "unavailable",
  "over_budget",
  "no_pictures",
] satisfies ModelErrorClass[];

/**
 * What a call cost, US dollars: by the tokens that the model names, nothing when it was refused; null when the answer is
 * lost.
 */
export function costOf(
  { inputUsd, outputUsd }: StageModel["price"],
  usage: Usage | null,
  errorClass: string | null,
): number | null {
  if (usage?.inputTokens !== undefined && usage.outputTokens !== undefined)
    return (usage.inputTokens * inputUsd + usage.outputTokens * outputUsd) / perMillion;
  return unpaid.includes(errorClass) ? 0 : null;
}

interface Tallying<P extends Pick<Steps, "noteStep">> {
  readonly progress: P;
  /** Tokens of what there is of the answer. */
  readonly written: () => number;
  /** Of what is sent first. */
  readonly inputTokens: number;
}

/** Counts an answer that was stopped or cut, whose last step names no figures: it was sent all that was said before. */
export function tallySteps<P extends Pick<Steps, "noteStep">>({
  progress,
  written,
  inputTokens,
}: Tallying<P>) {
  let ended = { inputTokens: 0, outputTokens: 0 };
  let sent = inputTokens;
  let writtenBefore = 0;
  const openStep = () => ({ inputTokens: sent, outputTokens: written() - writtenBefore });
  const withStep = (step: ReturnType<typeof openStep>) => ({
    inputTokens: ended.inputTokens + step.inputTokens,
    outputTokens: ended.outputTokens + Math.max(0, step.outputTokens),
  });
  return {
    usage: () => withStep(openStep()),
    progress: {
      ...progress,
      noteStep(usage: Usage, goesOn: boolean) {
        progress.noteStep(usage, goesOn);
        const open = openStep();
        const { inputTokens: read = open.inputTokens, outputTokens: made = open.outputTokens } = usage;
        ended = withStep({ inputTokens: read, outputTokens: made });
        sent = goesOn ? read + made : 0;
        writtenBefore = written();
      },
    },
  };
}
