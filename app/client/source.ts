import { useQuery } from "@tanstack/react-query";
import type { ImageView } from "@atelier/server/images";
import type { JobView } from "@atelier/server/jobs";
import { api } from "./api.ts";
import { keys } from "./queries.ts";

/** The job that made a picture; undefined for an upload, and until it is known. */
export function useMakingJob({ jobId }: Pick<ImageView, "jobId">): JobView | undefined {
  const id = jobId ?? "";
  const { data } = useQuery({
    queryKey: keys.job(id),
    queryFn: () => api.jobs.get.query({ id }),
    enabled: jobId !== null,
    staleTime: Infinity,
  });
  return data;
}

/** The job that made a picture, and the picture it was made from. */
export function useSourceImage(image: ImageView) {
  const job = useMakingJob(image);
  const source = job?.inputs.find((input) => input.role === "person" || input.role === "image");
  return { job, sourceId: source?.imageId ?? null };
}
