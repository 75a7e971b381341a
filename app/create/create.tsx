"use client";
import type { JobView } from "@atelier/server/jobs";
import { useCallback } from "react";
import { useWorkflowsQuery } from "../data/use-workflows.ts";
import { LoadFailed } from "../frame/load-failed.tsx";
import { createForm } from "./form/form-store.ts";
import { requestsOf } from "./requests.ts";
import { useForm } from "./form/use-form.ts";
import { SettingsPanel } from "./settings.tsx";
import { PromptCard } from "./prompt-card.tsx";
import { Results } from "./results.tsx";
import { useChosen } from "./use-chosen.ts";
import { useCreateRun } from "./run.ts";
import { useCreations } from "./use-creations.ts";
import { useCreateRemix } from "./use-create-remix.ts";

function lastSeedOf(jobs: readonly JobView[] | undefined): number | null {
  const seeds = jobs?.map(({ params }) => params.seed).filter((seed) => typeof seed === "number");
  return seeds?.[0] ?? null;
}

/** Pictures from words. */
export function Create() {
  const form = useForm();
  const { offered, chosen, canMake, reason } = useChosen();
  const workflows = useWorkflowsQuery();
  const creations = useCreations();
  const { mutate, isPending, left } = useCreateRun();
  useCreateRemix(offered);
  const make = useCallback(() => {
    if (chosen !== undefined) mutate(requestsOf(createForm.get(), chosen));
  }, [chosen, mutate]);
  return (
    <div className="grid gap-x-10 gap-y-5 px-4 pt-1 sm:px-6 wide:grid-cols-[minmax(0,1fr)_288px] wide:grid-rows-[auto_1fr] wide:gap-y-8 wide:px-8 xl:gap-x-14">
      <PromptCard
        chosen={chosen}
        left={isPending || chosen === undefined ? null : left(requestsOf(form, chosen))}
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
      <Results creations={creations} reason={reason} />
    </div>
  );
}
