"use client";
import { Redo2, Undo2 } from "lucide-react";
import { useTranslations } from "next-intl";
import { type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import { isTyping } from "../../parts/run-button.tsx";
import { Button, IconButton } from "../../ui/button.tsx";
import { commandOfPress } from "../tools/commands.ts";
import { ownKeys } from "../tools/own-keys.ts";
import type { ModeId, ModeSettings, ModeState } from "./mode-settings.ts";

type Change = Partial<ModeSettings[ModeId]>;

/** What a mode was set to before each step, the newest last, and what was undone. */
interface Steps {
  readonly past: readonly Change[];
  readonly undone: readonly Change[];
}

type StepsByMode = Partial<Record<ModeId, Steps>>;

const none: Steps = { past: [], undone: [] };
const mostSteps = 200;

/** Of the settings of a mode those that a change names. */
function before(settings: ModeSettings[ModeId], change: Change): Change {
  const names = new Set(Object.keys(change));
  // Safe cast: members of the same settings.
  return Object.fromEntries(Object.entries(settings).filter(([name]) => names.has(name))) as Change;
}

interface Settings {
  readonly read: () => ModeState;
  readonly change: (mode: ModeId, change: Change) => void;
}

/** Steps of settings that can be undone while the page is open; each mode has its own. */
export function useSteps({ read, change }: Settings) {
  const newest = useRef<StepsByMode>({});
  const [steps, setSteps] = useState<StepsByMode>({});
  const note = useCallback((next: StepsByMode) => {
    newest.current = next;
    setSteps(next);
  }, []);
  /** Changes settings. What they were can be undone, unless this goes on with the step before (`isBegun` false). */
  const step = useCallback(
    <Mode extends ModeId>(mode: Mode, wanted: Partial<ModeSettings[Mode]>, isBegun = true) => {
      const { past } = newest.current[mode] ?? none;
      const left = before(read().settings[mode], wanted);
      if (isBegun)
        note({ ...newest.current, [mode]: { past: [...past, left].slice(-mostSteps), undone: [] } });
      change(mode, wanted);
    },
    [change, note, read],
  );
  const undo = useCallback(
    (mode: ModeId) => {
      const { past, undone } = newest.current[mode] ?? none;
      const last = past.at(-1);
      if (last === undefined) return;
      const left = before(read().settings[mode], last);
      note({ ...newest.current, [mode]: { past: past.slice(0, -1), undone: [...undone, left] } });
      change(mode, last);
    },
    [change, note, read],
  );
  const redo = useCallback(
    (mode: ModeId) => {
      const { past, undone } = newest.current[mode] ?? none;
      const next = undone.at(-1);
      if (next === undefined) return;
      const left = before(read().settings[mode], next);
      note({ ...newest.current, [mode]: { past: [...past, left], undone: undone.slice(0, -1) } });
      change(mode, next);
    },
    [change, note, read],
  );
  const forget = useCallback(() => note({}), [note]);
  return { steps, step, undo, redo, forget };
}

/** `undo` or `redo` where a key means it, as at the mask; null else. */
function actOf(event: KeyboardEvent): "undo" | "redo" | null {
  const id = commandOfPress(event, ownKeys.get());
  return id === "undo" || id === "redo" ? id : null;
}

interface StepButtonsProps {
  readonly modes: ReturnType<typeof useSteps>;
  readonly mode: ModeId;
  readonly isChanged: boolean;
  readonly onReset: () => void;
  /** Stands before them. */
  readonly children?: ReactNode;
}

/** Undo, redo and reset of what a mode was set to, with the keys that undo a mask in other modes. */
export function StepButtons({ modes, mode, isChanged, onReset, children }: StepButtonsProps) {
  const t = useTranslations("edit");
  const { undo, redo, steps } = modes;
  const { past, undone } = steps[mode] ?? none;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const act = isTyping(event) ? null : actOf(event);
      if (act === null) return;
      event.preventDefault();
      event.stopPropagation();
      (act === "undo" ? undo : redo)(mode);
    };
    // In the capture phase: these are keys of the mask, too.
    window.addEventListener("keydown", press, { capture: true });
    return () => window.removeEventListener("keydown", press, { capture: true });
  }, [mode, redo, undo]);
  return (
    <div className="-mx-1.5 flex items-center">
      {children}
      <IconButton label={t("undo")} keys="Control+Z" disabled={past.length === 0} onClick={() => undo(mode)}>
        <Undo2 aria-hidden />
      </IconButton>
      <IconButton
        label={t("redo")}
        keys="Shift+Control+Z"
        disabled={undone.length === 0}
        onClick={() => redo(mode)}
      >
        <Redo2 aria-hidden />
      </IconButton>
      <span className="flex-1" />
      <Button look="quiet" size="small" disabled={!isChanged} onClick={onReset}>
        {t("resetMode")}
      </Button>
    </div>
  );
}
