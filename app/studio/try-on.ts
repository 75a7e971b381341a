"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useCallback, useState } from "react";
import type { BatchPlace } from "@atelier/server/batches";
import type { JobView } from "@atelier/server/jobs";
import { failureOf, NotWanted, useFailureToast } from "../ui/failures.ts";
import { keys, type OfferedWorkflow, useCapability, useImage } from "../client/queries.ts";
import { useRemix } from "../client/remix.ts";
import { agreedToChoice, choiceNameOf, useSubmit } from "../client/submit/job.ts";
import { useBatch } from "../batches/batch.ts";
import { useSubmitBatch } from "../client/submit/batch.ts";
import { useJob } from "../live/hooks.tsx";
import { toastWithUndo } from "../ui/toasts.tsx";
import { useConsent, useIsStating, type Category } from "../client/wardrobe.ts";
import { localChoice, useOutfitEngine } from "./engine.tsx";
import { type Piece, type Plan, planOutfit } from "./outfit.ts";
import { categoryFor, personMask, studio, usePersonMask, useStudio } from "./state.ts";

export interface StudioInputs {
  readonly personId: string | null;
  readonly garmentId: string | null;
  /** The pieces beside the garment. */
  readonly more: readonly Piece[];
  readonly category: Category;
  /** null: the local engine. */
  readonly chosen: OfferedWorkflow | null;
  /** Name of the workflow, or of the engine without workflows. */
  readonly name: string;
  readonly prompt: string;
  /** The id of the uploaded mask; null before its upload, undefined when no mask is used. */
  readonly maskId: string | null | undefined;
}

type JobInputs = Pick<JobView, "inputs" | "params" | "workflow" | "model" | "engine">;

/** Whether a job used exactly these inputs and settings. */
export function usedInputs({ inputs, params, engine, ...job }: JobInputs, current: StudioInputs): boolean {
  const inputOf = (role: string) => inputs.find((input) => input.role === role)?.imageId;
  const category = categoryFor(current.chosen, current.more.length === 0 ? current.category : "auto");
  const further = ["garment2", "garment3", "garment4"].map(inputOf).filter((id) => id !== undefined);
  return (
    inputOf("person") === current.personId &&
    inputOf("garment") === current.garmentId &&
    further.join() === current.more.map(({ imageId }) => imageId).join() &&
    inputOf("mask") === current.maskId &&
    params.category === category &&
    (choiceNameOf(job) ?? engine) === current.name &&
    (params.prompt ?? "") === current.prompt
  );
}

/** A function that uploads the painted mask once and returns its image id; null when no mask is sent. */
function useMaskId(personId: string | null) {
  const { data: person } = useImage(personId);
  const { takesMask } = useOutfitEngine(personId);
  const { isPainted } = usePersonMask(personId);
  return useCallback(
    async () => (takesMask && isPainted && person !== undefined ? personMask.send(person) : null),
    [isPainted, person, takesMask],
  );
}

/** The stored mask may be refused or deleted, so forget it; after a lost answer the same request must be sent again. */
function forgetRefusedMask(error: unknown): void {
  if (error instanceof NotWanted) return;
  if (failureOf(error).code !== "offline") personMask.forgetSent();
}

/** How the present pieces would be put on; null without a person and a garment, or while another picture comes. */
export function usePlan(personId: string | null, garmentId: string | null): Plan | null {
  const { category, more } = useStudio();
  const { chosen, prompt } = useOutfitEngine(personId);
  if (personId === null || garmentId === null) return null;
  const pieces = [{ imageId: garmentId, category }, ...more];
  return planOutfit({ person: personId, pieces, mask: null, prompt, workflow: chosen });
}

/** A pass of an order. */
export interface Pass {
  readonly number: number;
  readonly count: number;
  /** The next one begins in a moment. */
  readonly isBetween: boolean;
  /** It did not end well, and none follows. */
  readonly isStopped: boolean;
}

/** The job that the studio shows, of an order that of its present pass. */
export function useShownJob(): { readonly job: JobView | undefined; readonly pass: Pass | null } {
  const { jobId, order } = useStudio();
  const single = useJob(jobId);
  const place = useBatch(order?.id ?? null).batch?.jobs[0];
  if (order === null) return { job: single.isMissing ? undefined : single.job, pass: null };
  const job = place?.job ?? undefined;
  return { job, pass: place === undefined || job === undefined ? null : passOf(place, job) };
}

const oneStep = { begun: 0, count: 0, stopped: null };

function passOf(place: BatchPlace, job: JobView): Pass {
  const { begun, count, stopped } = place.steps ?? oneStep;
  const isStopped = stopped !== null || job.status === "failed" || job.status === "cancelled";
  const isBetween = job.status === "completed" && begun < count && !isStopped;
  return { number: begun + 1, count: count + 1, isBetween, isStopped };
}

/** Starts the passes of a plan as one order. */
function useOrder(plan: Plan | null) {
  // Also for who left meanwhile: an order that is not shown would be given again.
  const { mutate, isPending } = useSubmitBatch(({ id }, wanted) =>
    studio.set({ jobId: null, order: { id, asked: JSON.stringify(wanted.input) } }),
  );
  const input = plan?.way === "passes" ? plan.input : null;
  const start = () => {
    if (input !== null) mutate({ input });
  };
  return { isWanted: input !== null, isPending, start };
}

/** Submits the outfit change when all inputs are present. */
export function useRun(personId: string | null, garmentId: string | null) {
  const queries = useQueryClient();
  const showFailure = useFailureToast();
  const [missedFor, setMissedFor] = useState<string | null>(null);
  const [isSending, setSending] = useState(false);
  const isAvailable = useCapability("outfit_change")?.available ?? true;
  const { chosen, isKnown, lacksMask, takesMask, prompt } = useOutfitEngine(personId);
  const { isPainted } = usePersonMask(personId);
  const isStated = useConsent(personId) === true;
  const readMask = useMaskId(personId);
  const { mutate, isPending } = useSubmit((jobId) => {
    studio.set({ jobId });
    void queries.invalidateQueries({ queryKey: keys.allRecentInputs });
  });
  const plan = usePlan(personId, garmentId);
  const order = useOrder(plan);
  const isStating = useIsStating();
  const isBusy = [isPending, isSending, isStating, order.isPending].includes(true);
  const lacksRuns = order.isWanted && takesMask && isPainted;

  const run = useCallback(() => {
    if (personId === null || garmentId === null || isBusy) return;
    const { category, more } = studio.get();
    if (!isStated) {
      setMissedFor(personId);
      return;
    }
    if (order.isWanted) {
      order.start();
      return;
    }
    const pieces = [{ imageId: garmentId, category }, ...more];
    setSending(true);
    readMask()
      .then((mask) => {
        const made = planOutfit({ person: personId, pieces, mask, prompt, workflow: chosen });
        if (made?.way !== "run") return;
        mutate({ request: made.request, shown: agreedToChoice(chosen) }, { onError: forgetRefusedMask });
      }, showFailure)
      .finally(() => setSending(false));
  }, [chosen, garmentId, isBusy, isStated, mutate, order, personId, readMask, showFailure, prompt]);

  return {
    run,
    canRun: plan !== null && isAvailable && isKnown && !lacksMask && !lacksRuns,
    lacksRuns,
    isSubmitting: isBusy,
    isConsentMissed: missedFor !== null && missedFor === personId,
  };
}

const categories: readonly Category[] = ["auto", "top", "bottom", "dress"];

type LaidOut = Pick<JobView, "inputs" | "params" | "workflow" | "model">;

/** Puts the inputs and settings of a job into the studio. */
export function layOut({ inputs, params, ...job }: LaidOut): void {
  const inputOf = (role: string) => inputs.find((input) => input.role === role)?.imageId ?? null;
  const { category, prompt } = params;
  studio.set({
    personId: inputOf("person"),
    garmentId: inputOf("garment"),
    category: categories.find((known) => known === category) ?? "auto",
    more: ["garment2", "garment3", "garment4"].flatMap((role) => {
      const imageId = inputOf(role);
      return imageId === null ? [] : [{ imageId, category: "auto" as const }];
    }),
    engine: choiceNameOf(job) ?? localChoice,
    prompt: typeof prompt === "string" ? prompt : "",
    jobId: null,
  });
}

/** Remix: restores inputs and settings from the job of the picture in the URL, with Undo. */
export function useStudioRemix(): void {
  const t = useTranslations("studio");
  const take = useCallback(
    (job: LaidOut) => {
      const former = studio.get();
      layOut(job);
      const isMarked = job.inputs.some(({ role }) => role === "mask");
      toastWithUndo({
        title: t(isMarked ? "remixedMarks" : "remixed"),
        undoLabel: t("undo"),
        onUndo: () => studio.set(former),
      });
    },
    [t],
  );
  useRemix(take);
}
