import { claimedStatuses, type PlacedBecause } from "../db/index.ts";
import { cloudEngine } from "../engines.ts";
import type { Config, ErrorCode } from "../platform/index.ts";
import type { ProviderError } from "../providers/index.ts";
import type { Services } from "../services.ts";
import { scheduleDispatch } from "./dispatch.ts";
import { heldBy, hint, type Job, type Lease, transition } from "./job.ts";
import { atRest, otherPlace, type OtherPlace, placeAgain } from "./rehome.ts";

/*
 * Where a job goes on that a provider could not make; who finds it out asks here.
 *
 *   what happened                                       the next provider     own machines, else the job fails
 *   a call was refused, nothing was paid                yes                   after a refusal of the content
 *   a run failed, or its answer was lost                where configured      yes
 *   the result came and could not be stored             never: it was paid    yes
 *   the result came and the studio refuses it           never: it was paid    no: another one would be like it
 *   all of the chain have failed, or cost too much      there is none         yes
 *   all of the chain are busy                           it waits for one      first of all
 *
 * Own machines take only what named no engine, workflow or model; a job with `once` that was tried has had its try.
 */

const endsChain: ReadonlySet<ProviderError["class"]> = new Set(["moderation", "gate", "unstored"]);

/** Whether the next provider is asked after an error of a call, or of a run that the provider had taken. */
export function asksNext(
  errorClass: ProviderError["class"],
  of: "call" | "run",
  { onLateFailure, onLostReply }: Config["cloud"],
): boolean {
  if (endsChain.has(errorClass)) return false;
  return of === "call" || (errorClass === "lost" ? onLostReply : onLateFailure) === "next";
}

const homeReasons: Partial<Record<ErrorCode, PlacedBecause>> = {
  engine_blocked: "refused",
  provider_input: "refused",
  provider_failed: "failed",
  provider_setup: "failed",
  provider_unknown: "failed",
  providers_failed: "failed",
  model_unknown: "failed",
  budget_exceeded: "cap",
  not_agreed: "too_dear",
};

/** Why a job goes home after an error of its providers; null after any other error. */
export function homeReasonOf(code: ErrorCode): PlacedBecause | null {
  return homeReasons[code] ?? null;
}

/** A request that named no engine, workflow or model may run anywhere. */
function mayMove({ placement }: Job): boolean {
  const asked = placement?.asked;
  return asked !== undefined && asked.engine === null && asked.workflow === null && !asked.model;
}

/**
 * The own place of a job that a provider got without being asked for by name; null when the request named one, or no own
 * machine of the last 24 hours could run it.
 */
export async function findHome(
  services: Services,
  job: Job,
  because: PlacedBecause,
): Promise<OtherPlace | null> {
  if (job.engine !== cloudEngine.name || !mayMove(job)) return null;
  const quote = await placeAgain(services, job, { ownOnly: true });
  return quote?.quote.placed.isSeen ? otherPlace(job, quote, because) : null;
}

/**
 * Gives a job that a worker holds for a provider back to the own line, uncharged. Null when own machines cannot run it, or the
 * lease is no longer current.
 */
export async function goHome(
  services: Services,
  { job, lease }: { readonly job: Job; readonly lease: Lease },
  because: PlacedBecause,
): Promise<Job | null> {
  const home = await findHome(services, job, because);
  if (!home) return null;
  const moved = await transition(services.db, {
    from: claimedStatuses,
    to: "pending",
    where: heldBy(lease),
    set: { ...home.set, ...atRest },
    event: "went_home",
    data: home.data,
  });
  if (!moved) return null;
  hint(services, [moved]);
  await scheduleDispatch(services, moved.queue);
  return moved;
}
