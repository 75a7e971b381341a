"use client";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useMemo, useState } from "react";
import type { JobView } from "@atelier/server/jobs";
import { api } from "../client/api.ts";
import { withOwnOnly } from "../client/cloud.ts";
import { failureOf, NotWanted, useFailureText } from "../client/failures.ts";
import { keys } from "../client/queries.ts";
import type { Agreed } from "../client/agreement.ts";
import { createJobSubmission, submitAgreed } from "../client/submit.ts";
import { withLive } from "../jobs/jobs-list.tsx";
import { useLiveJobs } from "../live/hooks.tsx";
import { hasEnded } from "../live/store.ts";
import { toastFailure } from "../ui/toasts.tsx";
import type { CreateRequest } from "./requests.ts";

const filters = { kind: "text_to_image" } as const;
const pageSize = 30;

/** A failed job is shown here only if it failed while this browser watched; later only the Jobs page shows it. */
function isShown(job: JobView, live: readonly JobView[]): boolean {
  if (!hasEnded(job)) return true;
  if (job.status === "completed") return job.outputs.length > 0;
  return job.status === "failed" && live.some(({ id }) => id === job.id);
}

/** Text-to-image jobs, finished and running, newest first. */
export function useCreations() {
  const live = useLiveJobs();
  const query = useInfiniteQuery({
    queryKey: keys.jobList(filters),
    queryFn: ({ pageParam }) =>
      api.jobs.list.query({ ...filters, cursor: pageParam ?? undefined, limit: pageSize }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
  });
  const jobs = useMemo(() => {
    const loaded = query.data?.pages.flatMap((page) => page.items);
    return loaded && withLive(loaded, live, filters).filter((job) => isShown(job, live));
  }, [live, query.data]);
  return { ...query, jobs };
}

/** A toast for a batch that failed; it says how many jobs started if some did. */
function useBatchFailureToast() {
  const t = useTranslations("create");
  const textOf = useFailureText();
  return (error: unknown, started: number, count: number) => {
    const { title, advice } = textOf(failureOf(error));
    if (started === 0) toastFailure(title, advice);
    else toastFailure(t("partly", { started, count }), `${title}. ${advice}`);
  };
}

interface Wanted {
  readonly requests: readonly CreateRequest[];
  /** The place and price that were shown; null without any. */
  readonly shown: Agreed | null;
}

/** Starts one job per picture. After a failure, the next press submits only the requests that did not start. */
export function useCreateRun() {
  const showFailure = useBatchFailureToast();
  const queries = useQueryClient();
  const [submission] = useState(createJobSubmission);
  const countUnstarted = (requests: readonly CreateRequest[]) =>
    submission.countUnanswered(requests.map(withOwnOnly));
  const run = useMutation({
    mutationFn: ({ requests, shown }: Wanted) => submitAgreed(submission, requests, shown),
    onError: (error, { requests }) => {
      if (error instanceof NotWanted) return;
      const unstarted = countUnstarted(requests) ?? requests.length;
      showFailure(error, requests.length - unstarted, requests.length);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: keys.estimates }),
  });
  return { ...run, countUnstarted };
}
