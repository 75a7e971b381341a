"use client";
import type { ImageView } from "@atelier/server/images";
import { useQuery } from "@tanstack/react-query";
import { api } from "../../client/api.ts";
import { keys } from "../../data/keys.ts";

/** The job that made a picture, and the picture it was made from. */
export function useSourceImage(image: ImageView) {
  const jobId = image.jobId ?? "";
  const { data: job } = useQuery({
    queryKey: keys.job(jobId),
    queryFn: () => api.jobs.get.query({ id: jobId }),
    enabled: image.jobId !== null,
    staleTime: Infinity,
  });
  const source = job?.inputs.find((input) => input.role === "person" || input.role === "image");
  return { job, sourceId: source?.imageId ?? null };
}
