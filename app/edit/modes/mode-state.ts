"use client";
import { useSearchParams } from "next/navigation";
import { useCallback, useState } from "react";
import type { JobKind } from "@atelier/server/engines";
import type { JobView } from "@atelier/server/jobs";
import { type Adjustments, adjustments, neutral } from "@atelier/server/retouch";
import { useRemixJob } from "../../client/remix.ts";
import { type CropSettings, fromParams, noCrop } from "../crop/frame.ts";

/** What each mode was set to. Plain values, so that an edit can be stored and opened elsewhere. */
export interface ModeSettings {
  readonly remove: Readonly<Record<string, never>>;
  readonly replace: { readonly prompt: string };
  readonly change: { readonly prompt: string; readonly referenceId: string | null };
  readonly background: Readonly<Record<string, never>>;
  readonly enhance: { readonly what: "upscale" | "faces"; readonly scale: 2 | 4 };
  readonly adjust: Adjustments;
  readonly crop: CropSettings;
  readonly restore: { readonly from: "first" | "before" };
}

export type ModeId = keyof ModeSettings;

export interface ModeState {
  readonly mode: ModeId;
  readonly settings: ModeSettings;
}

export const newModes: ModeState = {
  mode: "remove",
  settings: {
    remove: {},
    replace: { prompt: "" },
    change: { prompt: "", referenceId: null },
    background: {},
    enhance: { what: "upscale", scale: 2 },
    adjust: neutral,
    crop: noCrop,
    restore: { from: "first" },
  },
};

/** Modes that work on what is marked. */
export function takesMarks(mode: ModeId): boolean {
  return mode !== "adjust" && mode !== "crop";
}

type Source = Pick<JobView, "kind" | "params" | "inputs">;

const promptOf = ({ params }: Source) => (typeof params.prompt === "string" ? params.prompt : "");

function withMode<Mode extends ModeId>(mode: Mode, settings: Partial<ModeSettings[Mode]>): ModeState {
  const before = newModes.settings[mode];
  return { mode, settings: { ...newModes.settings, [mode]: { ...before, ...settings } } };
}

const modesByKind: Partial<Record<JobKind, (job: Source) => ModeState>> = {
  inpaint: (job) => (promptOf(job) === "" ? newModes : withMode("replace", { prompt: promptOf(job) })),
  edit(job) {
    const reference = job.inputs.find(({ role }) => role === "reference");
    return withMode("change", { prompt: promptOf(job), referenceId: reference?.imageId ?? null });
  },
  upscale: ({ params }) => withMode("enhance", { what: "upscale", scale: params.scale === 4 ? 4 : 2 }),
  restore_faces: () => withMode("enhance", { what: "faces" }),
  remove_background: () => withMode("background", {}),
  adjust: ({ params }) =>
    withMode("adjust", Object.fromEntries(adjustments.map((name) => [name, Number(params[name] ?? 0)]))),
  crop: ({ params }) => withMode("crop", fromParams(params)),
  restore: () => withMode("restore", {}),
};

/** The mode and settings by which a job was made; those of a new edit for other kinds. */
export function modesOf(job: Source): ModeState {
  return modesByKind[job.kind]?.(job) ?? newModes;
}

/** The chosen mode with all settings; those of a picture's job first where the address names one (`?remix=<image id>`). */
export function useModes() {
  const [state, setState] = useState(newModes);
  const { job } = useRemixJob(useSearchParams().get("remix"));
  const [takenId, setTakenId] = useState<string | null>(null);
  if (job !== undefined && job.id !== takenId) {
    setTakenId(job.id);
    setState(modesOf(job));
  }
  const choose = useCallback((mode: ModeId) => setState((now) => ({ ...now, mode })), []);
  const change = useCallback(
    <Mode extends ModeId>(mode: Mode, changes: Partial<ModeSettings[Mode]>) =>
      setState(({ mode: chosen, settings }) => ({
        mode: chosen,
        settings: { ...settings, [mode]: { ...settings[mode], ...changes } },
      })),
    [],
  );
  return { state, remixId: takenId, choose, change, restore: setState };
}

export type ModeSession = ReturnType<typeof useModes>;
