"use client";
import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "next/navigation";
import { useEffect, useRef } from "react";
import type { JobKind } from "@atelier/server/engines";
import type { JobView } from "@atelier/server/jobs";
import { api } from "./api.ts";
import { ownOnly } from "./cloud.ts";
import { useFailureToast } from "../ui/failures.ts";
import { keys, useImage } from "./queries.ts";

/** The page that can start with the settings of a picture of each kind; null for kinds without settings to reuse. */
const pageByKind: Readonly<Record<JobKind, "create" | "studio" | "edit" | null>> = {
  text_to_image: "create",
  outfit_change: "studio",
  inpaint: "edit",
  edit: "edit",
  upscale: "edit",
  adjust: "edit",
  crop: "edit",
  remove_background: "edit",
  restore_faces: null,
  segment: null,
  restore: null,
  expand: "edit",
};

/** URL of the page that starts with the settings of a job's picture; null for kinds without settings to reuse. */
export function remixHref(
  imageId: string,
  { kind, inputs, params }: Pick<JobView, "kind" | "inputs" | "params">,
): string | null {
  // A removed object leaves no settings, nor does a transparent ground.
  if (kind === "inpaint" && (params.prompt ?? "") === "") return null;
  const hasGround = params.colour !== undefined || inputs.some(({ role }) => role === "background");
  if (kind === "remove_background" && !hasGround) return null;
  switch (pageByKind[kind]) {
    case "create":
      return `/create?remix=${imageId}`;
    case "studio":
      return `/?remix=${imageId}`;
    case "edit":
      return editHref(imageId, inputs);
    case null:
      return null;
  }
}

function editHref(imageId: string, inputs: JobView["inputs"]): string | null {
  const source = inputs.find(({ role }) => role === "image");
  return source === undefined ? null : `/edit/${source.imageId}?remix=${imageId}`;
}

/** The job of the picture to remix; shows a failure when the job cannot be found. */
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

type RemixJob = NonNullable<ReturnType<typeof useRemixJob>["job"]>;

/**
 * Calls `take` once with the job of the picture in the URL (`?remix=<image id>`), then removes the parameter. While `take`
 * is null the parameter stays.
 */
export function useRemix(take: ((job: RemixJob) => void) | null): void {
  const imageId = useSearchParams().get("remix");
  const { job, isUnknown } = useRemixJob(imageId);
  const takenId = useRef<string | null>(null);
  useEffect(() => {
    if (imageId === null) takenId.current = null;
    if (imageId === null || takenId.current === imageId) return;
    if (!isUnknown && (job === undefined || take === null)) return;
    takenId.current = imageId;
    if (!isUnknown && job !== undefined) {
      // Pictures that had to stay on own machines stay there; the switch shows it, and can be set back.
      if (job.ownOnly) ownOnly.set(true);
      take?.(job);
    }
    window.history.replaceState(null, "", window.location.pathname);
  }, [imageId, isUnknown, job, take]);
}
