"use client";
import { useSearchParams } from "next/navigation";
import { useCallback, useEffect, useMemo, useRef } from "react";
import type { JobKind } from "@atelier/server/engines";
import type { JobView } from "@atelier/server/jobs";
import { type Adjustments, adjustments, neutral } from "@atelier/server/retouch";
import { useRemixJob } from "../../client/remix.ts";
import type { OpenEdit } from "../document/state.ts";
import type { EditStore } from "../document/store.ts";
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

type Kept = Pick<OpenEdit, "mode" | "settings">;

const isMembers = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isMode = (mode: string | null): mode is ModeId =>
  mode !== null && Object.hasOwn(newModes.settings, mode);

/** The mode and settings that an edit was left with; what a later version of the studio added stays in the edit. */
export function keptModes({ mode, settings }: Kept): ModeState {
  const modes = Object.entries(newModes.settings).map(([id, begun]) => {
    const kept = settings[id];
    return [id, isMembers(kept) ? { ...begun, ...kept } : begun];
  });
  // Safe cast: the same modes, and their members were written by this page.
  return { mode: isMode(mode) ? mode : newModes.mode, settings: Object.fromEntries(modes) as ModeSettings };
}

/** The chosen mode with all settings; those of a picture's job first where the address names one (`?remix=<image id>`). */
export function useModes(store: EditStore, { mode, settings }: Kept) {
  const state = useMemo(() => keptModes({ mode, settings }), [mode, settings]);
  const { job } = useRemixJob(useSearchParams().get("remix"));
  const takenId = useRef<string | null>(null);
  const set = useCallback(
    (next: (now: ModeState) => ModeState) =>
      store.update((edit) => {
        const wanted = next(keptModes(edit));
        // Safe cast: settings are plain values.
        const kept = { ...edit.settings, ...wanted.settings } as unknown as OpenEdit["settings"];
        return { ...edit, mode: wanted.mode, settings: kept };
      }),
    [store],
  );
  useEffect(() => {
    if (job === undefined || job.id === takenId.current) return;
    takenId.current = job.id;
    set(() => modesOf(job));
  }, [job, set]);
  const choose = useCallback((chosen: ModeId) => set((now) => ({ ...now, mode: chosen })), [set]);
  const change = useCallback(
    <Mode extends ModeId>(changed: Mode, changes: Partial<ModeSettings[Mode]>) =>
      set((now) => ({
        ...now,
        settings: { ...now.settings, [changed]: { ...now.settings[changed], ...changes } },
      })),
    [set],
  );
  return { state, remixId: job?.id ?? null, choose, change };
}

export type ModeSession = ReturnType<typeof useModes>;
