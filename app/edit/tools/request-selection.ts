import type { ImageView } from "@atelier/server/images";
import type { JobView, SubmitInput } from "@atelier/server/jobs";
import { freeOnly } from "../../client/submit/agreement.ts";
import { api } from "../../client/api.ts";
import { imageUrl } from "../../client/urls.ts";
import { createJobSubmission, submitAgreed } from "../../client/submit/job.ts";
import { hasEnded, live } from "../../live/store.ts";
import { type Click, readSelection, type Selection } from "../mask/selection.ts";

const submission = createJobSubmission();

/** What is selected, by one of these ways. */
export type Wanted =
  | { readonly clicks: readonly Click[] }
  | { readonly box: Record<"left" | "top" | "width" | "height", number> }
  | { readonly prompt: string }
  | { readonly subject: true };

/**
 * Has an engine select what is wanted; null when the job was cancelled elsewhere. Aborting cancels the job. Throws the
 * failure of the request or of the job.
 */
export async function requestSelection(
  image: ImageView,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<Selection | null> {
  const clicks = "clicks" in wanted ? [...wanted.clicks] : [];
  const request: SubmitInput = {
    kind: "segment",
    retention: "ephemeral",
    inputs: { image: image.id },
    params: "clicks" in wanted ? { clicks } : wanted,
  };
  const [job] = await submitAgreed(submission, [request], freeOnly);
  if (job === undefined) return null;
  const { id } = job;
  try {
    const { error, outputs } = await waitForEnd(id, signal);
    if (error !== null) throw Object.assign(new Error(error.message), { code: error.code });
    const [mask] = outputs;
    return mask === undefined ? null : await fetchSelection(mask.imageId, { image, clicks, signal });
  } finally {
    void discard(id);
  }
}

interface Fetching {
  readonly image: ImageView;
  readonly clicks: readonly Click[];
  readonly signal: AbortSignal;
}

async function fetchSelection(maskId: string, { image, clicks, signal }: Fetching): Promise<Selection> {
  const response = await fetch(imageUrl(maskId, "original"), { signal });
  if (!response.ok) throw await response.json();
  return readSelection(await response.blob(), image, clicks);
}

/** The job when it has ended, by the live stream of the page. */
async function waitForEnd(id: string, signal: AbortSignal): Promise<JobView> {
  signal.throwIfAborted();
  live.put(await api.jobs.get.query({ id }));
  return new Promise((resolve, reject) => {
    const look = () => {
      const job = live.job(id);
      if (job !== undefined && hasEnded(job)) settle(() => resolve(job));
    };
    const stop = () => settle(() => reject(signal.reason));
    const unwatch = live.watchJob(id, look);
    const settle = (finish: () => void) => {
      unwatch();
      signal.removeEventListener("abort", stop);
      finish();
    };
    signal.addEventListener("abort", stop);
    look();
    if (signal.aborted) stop();
  });
}

/** Ends the job and removes it with its mask. What fails here the server does itself after a while. */
async function discard(id: string): Promise<void> {
  try {
    const job = live.job(id);
    if (job === undefined || !hasEnded(job)) {
      await api.jobs.cancel.mutate({ id });
      await waitForEnd(id, new AbortController().signal);
    }
    await fetch(`/api/v1/jobs/${id}/ack`, { method: "POST" });
  } catch {
    // Offline, or removed by another tab.
  }
}
