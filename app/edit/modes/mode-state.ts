"use client";
import { useSearchParams } from "next/navigation";
import { useCallback, useState } from "react";
import type { JobView } from "@atelier/server/jobs";
import { useRemixJob } from "../../client/remix.ts";

/** What each mode was set to. Plain values, so that an edit can be stored and opened elsewhere. */
export interface ModeSettings {
  readonly remove: Readonly<Record<string, never>>;
  readonly replace: { readonly prompt: string };
  readonly change: { readonly prompt: string; readonly referenceId: string | null };
  readonly background: Readonly<Record<string, never>>;
  readonly enhance: { readonly what: "upscale" | "faces"; readonly scale: 2 | 4 };
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
  },
};

type Source = Pick<JobView, "kind" | "params" | "inputs">;

function withMode<Mode extends ModeId>(mode: Mode, settings: Partial<ModeSettings[Mode]>): ModeState {
  const before = newModes.settings[mode];
  return { mode, settings: { ...newModes.settings, [mode]: { ...before, ...settings } } };
}

/** The mode and settings by which a job was made; those of a new edit for other kinds. */
export function modesOf({ kind, params, inputs }: Source): ModeState {
  const prompt = typeof params.prompt === "string" ? params.prompt : "";
  switch (kind) {
    case "inpaint":
      return prompt === "" ? newModes : withMode("replace", { prompt });
    case "edit": {
      const reference = inputs.find(({ role }) => role === "reference");
      return withMode("change", { prompt, referenceId: reference?.imageId ?? null });
    }
    case "upscale":
      return withMode("enhance", { what: "upscale", scale: params.scale === 4 ? 4 : 2 });
    case "restore_faces":
      return withMode("enhance", { what: "faces" });
    case "remove_background":
      return withMode("background", {});
    case "adjust":
    case "crop":
    case "restore":
    case "outfit_change":
    case "segment":
    case "text_to_image":
      return newModes;
  }
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
