"use client";
import { useTranslations } from "next-intl";
import type { BatchEstimate } from "@atelier/server/batches";
import type { JobView } from "@atelier/server/jobs";
import { useBatchEstimate } from "../batches/submit-batch.ts";
import { useOwnOnly, useWorkflows } from "../client/cloud.ts";
import { type OfferedWorkflow, useCapability, useWorkflowsQuery } from "../client/queries.ts";
import { agreedTo, type Estimate, useEstimate } from "../client/submit.ts";
import { LoadFailed } from "../parts/page-parts.tsx";
import { RunButton } from "../frame/run-button.tsx";
import { OfferLine, Warning } from "../jobs/offer-line.tsx";
import { useTimeText } from "../jobs/waiting-text.ts";
import { useDollars } from "../ui/hooks.ts";
import { createForm, maxPromptCharacters, useForm } from "./form.ts";
import { type CreateRequest, buildRequest, buildRequests, useCreateRemix } from "./requests.ts";
import { Results } from "./results.tsx";
import { useCreateRun, useCreations } from "./creations.ts";
import { SettingsPanel } from "./settings.tsx";

/** The request without prompt and seed: they do not affect the estimate, so typing must not fetch a new one. */
function forEstimate(request: CreateRequest): CreateRequest {
  const { seed: _seed, negativePrompt: _negative, ...params } = request.params;
  return { ...request, params: { ...params, prompt: "-" } };
}

/** When all pictures of a batch would be done, and for how much, or why one of them cannot be made. */
export function BatchEstimateLine({
  answer,
  count,
}: {
  readonly answer: BatchEstimate;
  readonly count: number;
}) {
  const t = useTranslations("create");
  const { lasts } = useTimeText();
  const usd = useDollars();
  const [refused] = answer.refused;
  if (refused) return <Warning>{refused.message}</Warning>;
  if (answer.doneMs === null) return <Warning>{t("batchAway")}</Warning>;
  const price = answer.maxPriceUsd === null ? null : usd(answer.maxPriceUsd);
  return (
    <p className="tabular text-xs text-quiet">
      {t("batchDone", { count, time: lasts(answer.doneMs) })}
      {answer.cloud === null ? null : `. ${price === null ? t("batchUnpriced") : t("batchPrice", { price })}`}
    </p>
  );
}

interface PromptCardProps {
  readonly chosen: OfferedWorkflow | undefined;
  readonly answer: Estimate | undefined;
  /** Of several pictures; undefined until it is known. */
  readonly ofBatch: BatchEstimate | undefined;
  readonly canMake: boolean;
  readonly isBusy: boolean;
  readonly onMake: () => void;
}

/** The prompt with the Generate button. */
function PromptCard({ chosen, answer, ofBatch, canMake, isBusy, onMake }: PromptCardProps) {
  const t = useTranslations("create");
  const form = useForm();
  const takesNegative = chosen?.params.negativePrompt !== undefined;
  return (
    <section
      aria-label={t("prompt")}
      className="flex flex-col rounded-card border border-edge/70 bg-surface transition-colors duration-120 focus-within:border-ink"
    >
      <textarea
        aria-label={t("prompt")}
        placeholder={t("promptHint")}
        value={form.prompt}
        maxLength={maxPromptCharacters}
        rows={3}
        onChange={(event) => createForm.set({ prompt: event.target.value })}
        className="field-sizing-content max-h-[40dvh] min-h-26 w-full resize-none bg-transparent px-4 pt-4 pb-2 text-lg outline-none placeholder:text-quiet sm:px-5"
      />
      {takesNegative ? (
        <label className="mx-4 flex items-baseline gap-3 border-t border-line py-2.5 sm:mx-5">
          <span className="shrink-0 text-xs text-quiet">{t("negativePrompt")}</span>
          <textarea
            value={form.negativePrompt}
            placeholder={t("negativePromptHint")}
            maxLength={maxPromptCharacters}
            rows={1}
            onChange={(event) => createForm.set({ negativePrompt: event.target.value })}
            className="field-sizing-content max-h-24 min-w-0 flex-1 resize-none bg-transparent text-sm outline-none placeholder:text-quiet"
          />
        </label>
      ) : null}
      <div className="flex items-center justify-between gap-x-4 gap-y-2 border-t border-line px-4 py-3 max-sm:flex-col max-sm:items-stretch sm:px-5">
        {form.count > 1 && ofBatch !== undefined ? (
          <BatchEstimateLine answer={ofBatch} count={form.count} />
        ) : (
          <OfferLine answer={answer} count={form.count} />
        )}
        <RunButton canRun={canMake} isBusy={isBusy} onRun={onMake}>
          {t("make", { count: form.count })}
        </RunButton>
      </div>
    </section>
  );
}

interface Choice {
  readonly offered: readonly OfferedWorkflow[] | undefined;
  /** The workflow that the user chose, else the first offered one (those that can run now come first). */
  readonly chosen: OfferedWorkflow | undefined;
  readonly canMake: boolean;
  /** Why no engine can run text to image now; null when one can. */
  readonly reason: string | null;
}

const unknown = { available: true, reason: null, engine: null } as const;

/** Whether anything makes pictures from prompts, or any own machine if the pictures shall stay there. */
function useMaking() {
  const t = useTranslations("create");
  const isOwnOnly = useOwnOnly();
  const making = useCapability("text_to_image") ?? unknown;
  return isOwnOnly && making.engine === "cloud"
    ? { available: false, reason: t("noOwnMachine") }
    : { available: making.available, reason: making.reason };
}

/** The workflow to use, and whether it can run. */
function useChosen(): Choice {
  const form = useForm();
  const offered = useWorkflows("text_to_image");
  const { available, reason } = useMaking();
  const chosen = offered?.find(({ name }) => name === form.workflow) ?? offered?.[0];
  // The workflow list is fetched more often than the capabilities, so it shows a new server earlier.
  const isLive = offered?.some((workflow) => workflow.isLive) ?? false;
  const isPossible = isLive || available;
  return {
    offered,
    chosen,
    canMake: chosen !== undefined && isPossible && form.prompt.trim() !== "",
    reason: isPossible ? null : reason,
  };
}

function lastSeedOf(jobs: readonly JobView[] | undefined): number | null {
  const seeds = jobs?.map(({ params }) => params.seed).filter((seed) => typeof seed === "number");
  return seeds?.[0] ?? null;
}

/** The text-to-image page. */
export function Create() {
  const form = useForm();
  const { offered, chosen, canMake, reason } = useChosen();
  const workflows = useWorkflowsQuery();
  const creations = useCreations();
  const { run, batchId, isPending } = useCreateRun();
  useCreateRemix(offered);
  const asked = chosen === undefined ? null : forEstimate(buildRequest({ ...form, count: 1 }, chosen));
  const answer = useEstimate(asked);
  const ofBatch = useBatchEstimate(
    asked === null || form.count === 1 ? null : { jobs: Array.from({ length: form.count }, () => asked) },
  );
  const make = () => {
    if (chosen === undefined) return;
    const shownUsd = ofBatch?.jobs === form.count ? ofBatch.maxPriceUsd : null;
    run({ requests: buildRequests(createForm.get(), chosen), shown: agreedTo(answer), shownUsd });
  };
  return (
    <div className="grid gap-x-10 gap-y-5 px-4 pt-1 sm:px-6 wide:grid-cols-[minmax(0,1fr)_288px] wide:grid-rows-[auto_1fr] wide:gap-y-8 wide:px-8 xl:gap-x-14">
      <PromptCard
        chosen={chosen}
        answer={answer}
        ofBatch={ofBatch?.jobs === form.count ? ofBatch : undefined}
        canMake={canMake}
        isBusy={isPending}
        onMake={make}
      />
      <div className="min-w-0 wide:col-start-2 wide:row-span-2 wide:row-start-1">
        <div className="wide:sticky wide:top-6">
          {chosen === undefined || offered === undefined ? null : (
            <SettingsPanel chosen={chosen} offered={offered} lastSeed={lastSeedOf(creations.jobs)} />
          )}
          {offered === undefined && workflows.error !== null ? (
            <LoadFailed error={workflows.error} onRetry={() => void workflows.refetch()} />
          ) : null}
        </div>
      </div>
      <Results creations={creations} reason={reason} batchId={batchId} />
    </div>
  );
}
