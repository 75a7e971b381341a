"use client";
import { useFormatter, useTranslations } from "next-intl";
import { useCallback } from "react";
import type { JobView } from "@atelier/server/jobs";
import { type Failure, type FailureText, useFailureText } from "../ui/failures.ts";
import { useStudioNow } from "../client/use-clock.ts";
import { useAllWorkflows } from "../client/queries.ts";
import { useProgress } from "../live/hooks.tsx";

/** A time with its unit; a number gets `digits` behind the sign of its language, none by default. */
export type SayTime = (
  value: number | string,
  unit: "seconds" | "minutes" | "hours" | "days",
  digits?: number,
) => string;

export function useSayTime(): SayTime {
  const t = useTranslations("waiting.units");
  const format = useFormatter();
  return useCallback(
    (value, unit, digits = 0) => {
      const places = { minimumFractionDigits: digits, maximumFractionDigits: digits };
      return t(unit, { value: typeof value === "string" ? value : format.number(value, places) });
    },
    [t, format],
  );
}

/** `7 s`, `1:05 min`, `2:03:09 h`. */
export function formatSeconds(seconds: number, say: SayTime): string {
  const pad = (value: number) => String(value).padStart(2, "0");
  if (seconds < 60) return say(seconds, "seconds");
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return say(`${minutes}:${pad(seconds % 60)}`, "minutes");
  return say(`${Math.floor(minutes / 60)}:${pad(minutes % 60)}:${pad(seconds % 60)}`, "hours");
}

/** URL that a job links to: its result in the gallery when there is one, else its page. */
export function jobHref(job: JobView): string {
  // The result of a selection is a mask, which is not in the gallery.
  const imageId = job.kind === "segment" ? undefined : job.outputs[0]?.imageId;
  return imageId === undefined ? `/jobs/${job.id}` : `/gallery?image=${imageId}`;
}

/** Codes that a retry of the same request cannot change. */
const finalCodes: ReadonlySet<string> = new Set([
  "no_person_found",
  "nothing_stands_out",
  "person_unsuitable",
  "garment_unsuitable",
  "input_missing",
  "mask_empty",
  "mask_size",
  "output_too_large",
  "consent_required",
  "upload_unreadable",
  "bad_request",
  "workflow_params",
  "workflow_unknown",
  "graph_invalid",
  "template_invalid",
  "engine_blocked",
  "input_refused",
  "model_params",
  "provider_input",
]);

/** Codes whose message says more than the fixed text: which provider, why, and in its own words. */
const toldCodes: ReadonlySet<string> = new Set([
  "engine_blocked",
  "provider_failed",
  "provider_input",
  "provider_setup",
  "providers_failed",
]);

/** Whether a retry of the same request may succeed. */
export function canRetryHelp(code: string): boolean {
  return !finalCodes.has(code);
}

export interface JobNow {
  /** The current stage as text. */
  readonly text: string;
  /** 0..1; null while the job waits. */
  readonly progress: number | null;
  readonly preview: string | null;
}

/** A job's current state: the live progress if there is any, else the stored state. */
export function useJobNow(job: JobView): JobNow {
  const t = useTranslations("jobs");
  const stages = useTranslations("stages");
  const live = useProgress(job.id);
  const preview = live?.preview ?? null;
  if (job.cancelRequested) return { text: t("cancelling"), progress: job.progress, preview };
  const stage = (live?.stage ?? job.stage ?? "") as "reading";
  if (job.status !== "processing") return { text: t(`status.${job.status}`), progress: null, preview };
  return {
    text: stages.has(stage) ? stages(stage) : t("status.processing"),
    progress: Math.max(live?.progress ?? 0, job.progress),
    preview,
  };
}

/** Whole seconds since `sinceIso`; updates every second until `untilIso` is set. */
export function useElapsedSeconds(sinceIso: string, untilIso: string | null): number {
  const nowMs = useStudioNow(untilIso === null ? 1_000 : null);
  const endMs = untilIso === null ? nowMs : Date.parse(untilIso);
  return Math.max(0, Math.floor((endMs - Date.parse(sinceIso)) / 1_000));
}

/** The title of an engine; its plain name when it has no title. */
export function useEngineName(): (engine: string) => string {
  const t = useTranslations("engines");
  return useCallback(
    (engine) => {
      const key = engine as "local";
      return t.has(key) ? t(key) : engine;
    },
    [t],
  );
}

/** The text of a job's failure. For `bad_request` it is the engine's own message, since the page sent a valid request. */
export function useJobFailureText(): (failure: Failure) => FailureText {
  const t = useTranslations("jobs");
  const textOf = useFailureText();
  return useCallback(
    (failure) => {
      if (failure.message === "") return textOf(failure);
      if (failure.code === "bad_request") return { title: t("refused"), advice: failure.message };
      return toldCodes.has(failure.code)
        ? { title: textOf(failure).title, advice: failure.message }
        : textOf(failure);
    },
    [t, textOf],
  );
}

/** The title of a workflow; its name when no server offers it any more. */
export function useWorkflowTitle(): (name: string) => string {
  const workflows = useAllWorkflows();
  return useCallback(
    (name) => workflows?.find((workflow) => workflow.name === name)?.title ?? name,
    [workflows],
  );
}

/** The engine and workflow of a job as text: `ComfyUI, Z-Image Turbo`, `This computer`. */
export function useNeedName(): (need: string) => string {
  const engineName = useEngineName();
  const titleOf = useWorkflowTitle();
  return useCallback(
    (need) => {
      const [engine = "", what = ""] = need.split("/");
      if (engine === "cloud") return `${engineName(engine)}, ${titleOf(need)}`;
      return engine === "comfyui" ? `${engineName(engine)}, ${titleOf(what)}` : engineName(engine);
    },
    [engineName, titleOf],
  );
}
