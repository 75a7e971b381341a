"use client";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useMemo, useState } from "react";
import type { JobView } from "@atelier/server/jobs";
import { api } from "../client/api.ts";
import { failureOf, useFailureText } from "../client/failures.ts";
import { keys } from "../client/queries.ts";
import { createBatchKeys } from "../client/submit.ts";
import { withLive } from "../jobs/jobs-list.tsx";
import { useLiveJobs } from "../live/hooks.tsx";
import { hasEnded } from "../live/store.ts";
import { toastFailure } from "../ui/toasts.tsx";
import type { CreateRequest } from "./requests.ts";

const filters = { kind: "text_to_image" } as const;
const pageSize = 30;

/** A failure is shown on this page only to the user who saw the job run; afterwards only in Jobs. */
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

/** Shows the failure, after the number of started jobs if some did start. */
function useBatchFailureToast() {
  const t = useTranslations("create");
  const textOf = useFailureText();
  return (error: unknown, started: number, count: number) => {
    const { title, advice } = textOf(failureOf(error));
    if (started === 0) toastFailure(title, advice);
    else toastFailure(t("partly", { started, count }), `${title}. ${advice}`);
  };
}

/** Starts one job per picture; after a refusal the same press asks only for those that did not start. */
export function useCreateRun() {
  const showFailure = useBatchFailureToast();
  const queries = useQueryClient();
  const [batches] = useState(createBatchKeys);
  const run = useMutation({
    mutationFn: async (requests: readonly CreateRequest[]) => {
      const { keys: requestKeys, started } = batches.open(requests);
      // Side by side, so that they travel as one request and leaving the page loses none.
      const answers = await Promise.allSettled(
        requests.map(async (request, index) => {
          if (started.has(index)) return;
          await api.jobs.submit.mutate({ ...request, idempotencyKey: requestKeys[index] });
          started.add(index);
        }),
      );
      for (const [index, answer] of answers.entries()) {
        // The job that an earlier try made is gone: its key would be refused for ever.
        if (answer.status === "rejected" && failureOf(answer.reason).code === "conflict")
          batches.renew(requests, index);
      }
      const refused = answers.find((answer) => answer.status === "rejected");
      if (refused !== undefined) throw refused.reason;
      batches.settle();
    },
    onError: (error, requests) =>
      showFailure(error, requests.length - (batches.left(requests) ?? requests.length), requests.length),
    onSettled: () => queries.invalidateQueries({ queryKey: keys.estimates }),
  });
  return { ...run, left: (requests: readonly CreateRequest[]) => batches.left(requests) };
}
