"use client";
import { useTranslations } from "next-intl";
import { useMemo } from "react";
import type { JobView } from "@atelier/server/jobs";
import { useBatchEstimate } from "../client/submit/batch.ts";
import { useOwnOnly, useWorkflows } from "../client/cloud.ts";
import { type OfferedWorkflow, useCapability, useWorkflowsQuery } from "../client/queries.ts";
import { agreedTo, useEstimate } from "../client/submit/job.ts";
import { LoadFailed } from "../parts/page-parts.tsx";
import { type CreateForm, createForm, useForm } from "./form.ts";
import { type Plan, planOf } from "./plan.ts";
import { PromptCard } from "./prompt-card.tsx";
import { useHasGone } from "./reference-list.tsx";
import { lacksPictures } from "./references.ts";
import { randomSeed } from "../client/numbers.ts";
import { type CreateRequest, buildRequest, lacksChoice, useCreateRemix } from "./requests.ts";
import { Results } from "./results.tsx";
import { useCreateRun, useCreations } from "./creations.ts";
import { SettingsPanel } from "./settings.tsx";

/** A request without its words and seed: they do not affect the estimate, so typing must not fetch a new one. */
function forEstimate({ template: _template, ...request }: CreateRequest): CreateRequest {
  const { seed: _seed, negativePrompt: _negative, ...params } = request.params;
  return { ...request, params: { ...params, prompt: "-" } };
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

interface MakingInput extends Pick<Choice, "chosen" | "offered"> {
  readonly run: ReturnType<typeof useCreateRun>["run"];
}

/**
 * The form as it is ordered: cells of a grid are made from one seed, or they would differ in all. It is kept with the draft
 * until the order is answered: the same order, sent again after a lost answer or a reload, must not be paid twice.
 */
function seededForm(): CreateForm {
  const form = createForm.get();
  if (form.mode !== "grid" || form.seed !== null) return form;
  const seed = form.gridSeed ?? randomSeed();
  if (form.gridSeed === null) createForm.set({ gridSeed: seed });
  return { ...form, seed };
}

const forgetGridSeed = () => createForm.set({ gridSeed: null });

/** What is still missing: the pictures or the checkpoint that the workflow needs. No estimate is asked for before. */
function lacksOf(form: CreateForm, chosen: OfferedWorkflow | undefined, plan: Plan | null) {
  if (chosen === undefined) return { isUnchosen: false, isOpen: false };
  // A grid may name the checkpoints itself.
  const isUnchosen = (plan === null || plan.axes === null) && lacksChoice(form, chosen);
  return { isUnchosen, isOpen: lacksPictures(form.references, chosen) };
}

/** What the form makes, what that costs, and the click. */
function usePlan({ chosen, offered, run }: MakingInput) {
  const form = useForm();
  const plan = useMemo(
    () => (chosen === undefined || offered === undefined ? null : planOf(form, chosen, offered)),
    [chosen, form, offered],
  );
  const jobs = plan?.requests.map(forEstimate) ?? [];
  const first = chosen === undefined ? null : forEstimate(buildRequest(form, chosen));
  const { isUnchosen, isOpen } = lacksOf(form, chosen, plan);
  const answer = useEstimate(isUnchosen ? null : (jobs[0] ?? (isOpen ? null : first)));
  const ofBatch = useBatchEstimate(jobs.length > 1 ? { jobs } : null);
  const isShown = ofBatch?.jobs === jobs.length;
  const make = () => {
    if (chosen === undefined || offered === undefined) return;
    const { requests, axes } = planOf(seededForm(), chosen, offered);
    const shownUsd = isShown ? ofBatch.maxPriceUsd : null;
    run({ requests, axes, shown: agreedTo(answer), shownUsd });
  };
  return {
    plan,
    answer,
    ofBatch: isShown ? ofBatch : undefined,
    make,
    isReady: jobs.length > 0 && !isUnchosen,
  };
}

/** The text-to-image page. */
export function Create() {
  const { offered, chosen, canMake, reason } = useChosen();
  const workflows = useWorkflowsQuery();
  const creations = useCreations();
  const { run, batchId, isPending } = useCreateRun(forgetGridSeed);
  useCreateRemix(offered);
  const hasGone = useHasGone();
  const { plan, answer, ofBatch, make, isReady } = usePlan({ chosen, offered, run });
  return (
    <div className="grid gap-x-10 gap-y-5 px-4 pt-1 sm:px-6 wide:grid-cols-[minmax(0,1fr)_288px] wide:grid-rows-[auto_1fr] wide:gap-y-8 wide:px-8 xl:gap-x-14">
      <PromptCard
        chosen={chosen}
        offered={offered}
        plan={plan}
        answer={answer}
        ofBatch={ofBatch}
        canMake={canMake && isReady && !hasGone}
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
