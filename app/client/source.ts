import { useQuery } from "@tanstack/react-query";
import type { ImageView } from "@atelier/server/images";
import { api } from "./api.ts";
import { keys } from "./queries.ts";

/** Of the job that made a picture; an upload has none. */
export const makingQuery = ({ jobId }: Pick<ImageView, "jobId">) => ({
  queryKey: keys.job(jobId ?? ""),
  queryFn: () => api.jobs.get.query({ id: jobId ?? "" }),
  enabled: jobId !== null,
  staleTime: Infinity,
});

/** The job that made a picture, and the picture it was made from. */
export function useSourceImage(image: ImageView) {
  const job = useQuery(makingQuery(image)).data;
  const source = job?.inputs.find((input) => input.role === "person" || input.role === "image");
  return { job, sourceId: source?.imageId ?? null };
}
