"use client";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import type { BatchInput, BatchView } from "@atelier/server/batches";
import type { JobView } from "@atelier/server/jobs";
import { useSubmitBatch } from "../client/submit/batch.ts";
import { api } from "../client/api.ts";
import { byCursor, keys } from "../client/queries.ts";
import type { Agreed } from "../client/submit/agreement.ts";
import { useSubmit } from "../client/submit/job.ts";
import { withLive } from "../jobs/jobs-list.tsx";
import { useLiveJobs } from "../live/hooks.tsx";
import { hasEnded } from "../live/store.ts";
import type { CreateRequest } from "./requests.ts";

const filters = { kind: "text_to_image" } as const;
const pageSize = 30;

/** A failed job is shown here only if it failed while this browser watched; later only the Jobs page shows it. */
function isShown(job: JobView, watched: ReadonlySet<string>): boolean {
  if (!hasEnded(job)) return true;
  if (job.status === "completed") return job.outputs.length > 0;
  return job.status === "failed" && watched.has(job.id);
}

/** Text-to-image jobs, finished and running, newest first. */
export function useCreations() {
  const live = useLiveJobs();
  const query = useInfiniteQuery({
    queryKey: keys.jobList(filters),
    queryFn: ({ pageParam }) =>
      api.jobs.list.query({ ...filters, cursor: pageParam ?? undefined, limit: pageSize }),
    ...byCursor,
  });
  const jobs = useMemo(() => {
    const loaded = query.data?.pages.flatMap((page) => page.items);
    const watched = new Set(live.map(({ id }) => id));
    return loaded && withLive(loaded, live, filters).filter((job) => isShown(job, watched));
  }, [live, query.data]);
  return { ...query, jobs };
}

interface Wanted {
  readonly requests: readonly CreateRequest[];
  /** How they stand as a table; null without any. */
  readonly axes: BatchView["axes"];
  /** The place and price that were shown for one picture; null without any. */
  readonly shown: Agreed | null;
  /** The price that was shown for all of them. */
  readonly shownUsd: number | null | undefined;
}

/** About two lines of a heading on a phone. */
const maxTitle = 80;

/** Several pictures as one batch, which is named after their prompt. */
export function batchOf(requests: readonly CreateRequest[], axes: BatchView["axes"] = null): BatchInput {
  const prompt = (requests[0]?.params.prompt ?? "").replaceAll(/\s+/gu, " ").trim();
  return {
    ...(prompt === "" ? {} : { title: prompt.slice(0, maxTitle) }),
    jobs: requests,
    ...(axes === null ? {} : { axes }),
  };
}

/** Starts one job, or a batch of several: for one price, and all of them or none. */
export function useCreateRun(onStarted: () => void) {
  const queries = useQueryClient();
  const [batchId, setBatchId] = useState<string | null>(null);
  const start = (id: string | null) => {
    setBatchId(id);
    onStarted();
  };
  const one = useSubmit(() => start(null));
  const many = useSubmitBatch(({ id }) => start(id));
  const run = ({ requests, axes, shown, shownUsd }: Wanted) => {
    const [request, ...others] = requests;
    if (request === undefined) return;
    if (others.length > 0) return many.mutate({ input: batchOf(requests, axes), shownUsd });
    const onSettled = () => void queries.invalidateQueries({ queryKey: keys.estimates });
    one.mutate({ request, shown }, { onSettled });
  };
  return { run, batchId, isPending: one.isPending || many.isPending };
}
