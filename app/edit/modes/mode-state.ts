"use client";
import { useSearchParams } from "next/navigation";
import { useCallback, useEffect, useMemo, useRef } from "react";
import type { JobView } from "@atelier/server/jobs";
import { useRemixJob } from "../../client/remix.ts";
import type { OpenEdit } from "../document/state.ts";
import type { EditStore } from "../document/store.ts";
import {
  keptModes,
  type ModeId,
  type ModeSettings,
  modesOf,
  type ModeState,
  withJob,
  withModes,
} from "./mode-settings.ts";
import { useSteps } from "./steps.tsx";

const ofMarks: ReadonlySet<ModeId> = new Set(["remove", "replace", "restore"]);

/** Modes that work on what is marked; the others are about the whole picture. */
export function takesMarks(mode: ModeId): boolean {
  return ofMarks.has(mode);
}

type Kept = Pick<OpenEdit, "mode" | "settings">;

/** The chosen mode with all settings; those of a picture's job first where the address names one (`?remix=<image id>`). */
export function useModes(store: EditStore, { mode, settings }: Kept) {
  const state = useMemo(() => keptModes({ mode, settings }), [mode, settings]);
  const { job } = useRemixJob(useSearchParams().get("remix"));
  const takenId = useRef<string | null>(null);
  const set = useCallback(
    (next: (now: ModeState) => ModeState) => store.update((edit) => withModes(edit, next(keptModes(edit)))),
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
  const useOf = useCallback(
    (source: JobView) => {
      const isOfMode = withJob(keptModes(store.read().edit), source) !== null;
      return isOfMode ? () => set((now) => withJob(now, source) ?? now) : null;
    },
    [set, store],
  );
  const read = useCallback(() => keptModes(store.read().edit), [store]);
  const steps = useSteps({ read, change });
  return { state, read, remixId: job?.id ?? null, choose, change, useOf, ...steps };
}

export type ModeSession = ReturnType<typeof useModes>;
