"use client";
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { api } from "../client/api.ts";
import { keys } from "./keys.ts";
import { useFailureToast } from "./use-failure-toast.ts";
import { useImage } from "./use-image.ts";

/** The job that made the picture which shall be made anew; says so when it cannot be found. */
export function useRemixJob(imageId: string | null) {
  const showFailure = useFailureToast();
  const image = useImage(imageId);
  const jobId = image.data?.jobId ?? null;
  const job = useQuery({
    queryKey: keys.job(jobId ?? ""),
    queryFn: () => api.jobs.get.query({ id: jobId ?? "" }),
    enabled: jobId !== null,
    staleTime: Infinity,
  });
  const error = image.error ?? job.error;
  useEffect(() => {
    if (error !== null) showFailure(error);
  }, [error, showFailure]);
  return { job: jobId === null ? undefined : job.data, isUnknown: error !== null };
}
