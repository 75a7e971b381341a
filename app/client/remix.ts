"use client";
import { useSearchParams } from "next/navigation";
import { useEffect, useRef } from "react";
import { useRemixJob } from "../data/use-remix-job.ts";

type RemixJob = NonNullable<ReturnType<typeof useRemixJob>["job"]>;

/** Hands over the job of the picture that the address names, once each time it is named; null waits. */
export function useRemix(take: ((job: RemixJob) => void) | null): void {
  const imageId = useSearchParams().get("remix");
  const { job, isUnknown } = useRemixJob(imageId);
  const takenId = useRef<string | null>(null);
  useEffect(() => {
    if (imageId === null) takenId.current = null;
    if (imageId === null || takenId.current === imageId) return;
    if (!isUnknown && (job === undefined || take === null)) return;
    takenId.current = imageId;
    if (!isUnknown && job !== undefined) take?.(job);
    window.history.replaceState(null, "", window.location.pathname);
  }, [imageId, isUnknown, job, take]);
}
