"use client";
import { useMutation } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useRef, useState } from "react";
import type { SubmitInput } from "@atelier/server/jobs";
import { useSubmitBatch } from "../../client/submit/batch.ts";
import type { Agreed } from "../../client/submit/agreement.ts";
import { useFailureToast } from "../../ui/failures.ts";
import { createJobSubmission, type Estimate, submitAgreed } from "../../client/submit/job.ts";
import type { OfferedParam } from "../../client/queries.ts";
import { addToSeed } from "../../client/numbers.ts";
import { Segmented } from "../../ui/fields.tsx";
import { useDollars } from "../../ui/hooks.ts";
import type { Mark } from "../mask/marks.ts";
import { mostCandidates, type Runs } from "./runs.ts";

const counts = Array.from({ length: mostCandidates }, (_, at) => String(at + 1));

export interface CandidateChoice {
  readonly count: number;
  readonly onCount: (count: number) => void;
}

interface CandidateCountProps extends CandidateChoice {
  /** Of one of them; undefined until it is known. */
  readonly answer: Estimate | undefined;
}

/** How many results a click makes, and what they cost together where one costs something. */
export function CandidateCount({ count, onCount, answer }: CandidateCountProps) {
  const t = useTranslations("edit");
  const dollars = useDollars();
  const priceUsd = (answer?.isPossible === true ? answer.priceUsd : 0) ?? 0;
  return (
    <div className="flex flex-wrap items-center justify-between gap-x-3 gap-y-1">
      <span className="text-xs text-quiet">{t("candidates")}</span>
      <Segmented
        label={t("candidateCount")}
        value={String(count)}
        onChange={(value) => onCount(Number(value))}
        options={counts.map((value) => ({ value, label: value }))}
      />
      {count === 1 || priceUsd === 0 ? null : (
        <p className="tabular w-full text-xs text-quiet">
          {t("candidatesPrice", { count, total: dollars(priceUsd * count) })}
        </p>
      )}
    </div>
  );
}

interface Wanted {
  /** Uploads what the request needs first. */
  readonly makeRequest: () => Promise<SubmitInput> | SubmitInput;
  /** What was shown of place and price, of one job. */
  readonly shown: Agreed | null;
  readonly count: number;
  /** The range of their seeds. */
  readonly seeds?: OfferedParam | undefined;
  readonly spent?: readonly Mark[] | undefined;
  /** Of the click: when the jobs are there, another version may be on the stage. */
  readonly onJob: OnJobs;
}

export type OnJobs = ReturnType<Runs["startOn"]>;

/** The request of one of several candidates: a fixed seed rises by one for each, so that they differ. */
export function candidateRequest(request: SubmitInput, at: number, seeds?: OfferedParam): SubmitInput {
  const { params } = request;
  if (params === undefined || !("seed" in params) || params.seed === undefined) return request;
  // Safe cast: only the seed is another one.
  return { ...request, params: { ...params, seed: addToSeed(params.seed, at, seeds) } } as SubmitInput;
}

/**
 * Starts one job, or several as one batch. Equal input after a lost answer starts nothing a second time. `onSettled`: the request
 * was answered, or failed with this error.
 */
export function useCandidateRun(onSettled: ((error: unknown) => void) | undefined) {
  const showFailure = useFailureToast();
  const [submission] = useState(createJobSubmission);
  const batch = useSubmitBatch();
  /** What the last request needs was uploaded or selected. */
  const isReady = useRef(false);
  return useMutation({
    mutationFn: async ({ makeRequest, shown, count, seeds }: Wanted): Promise<readonly string[]> => {
      isReady.current = false;
      const request = await makeRequest();
      isReady.current = true;
      if (count === 1) return (await submitAgreed(submission, [request], shown)).map(({ id }) => id);
      const priceUsd = shown?.maxPriceUsd;
      const { jobIds } = await batch.mutateAsync({
        input: { jobs: Array.from({ length: count }, (_, at) => candidateRequest(request, at, seeds)) },
        shownUsd: priceUsd === undefined ? null : priceUsd * count,
      });
      return jobIds;
    },
    onSuccess: (jobIds, { spent, onJob }) => {
      onSettled?.(null);
      onJob(jobIds, spent);
    },
    onError: (error, { count }) => {
      onSettled?.(error);
      // A batch that was sent has told of its failure.
      if (count === 1 || !isReady.current) showFailure(error);
    },
  });
}
