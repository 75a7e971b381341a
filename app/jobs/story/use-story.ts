"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { api } from "../../client/api.ts";
import { keys } from "../../data/keys.ts";
import { useJob } from "../../live/use-job.ts";

/** A job with its events; asked for again whenever the stream tells of a newer revision. */
export function useStory(id: string) {
  const queries = useQueryClient();
  const query = useQuery({
    queryKey: keys.job(id),
    queryFn: () => api.jobs.get.query({ id }),
    staleTime: Infinity,
  });
  const { job } = useJob(id);
  const knownRevision = query.data?.revision ?? 0;
  const isBehind = job !== undefined && job.revision > knownRevision;
  useEffect(() => {
    if (isBehind) void queries.invalidateQueries({ queryKey: keys.job(id) });
  }, [id, isBehind, job?.revision, queries]);
  return { ...query, job: job ?? query.data };
}
