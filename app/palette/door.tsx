"use client";
import { Search } from "lucide-react";
import { useTranslations } from "next-intl";
import { type ComponentType, useEffect, useLayoutEffect, useState } from "react";
import { useFailureToast } from "../client/failures.ts";
import { paletteOpen, useOpening } from "../frame/openings.ts";
import { isBehindDialog } from "../frame/run-button.tsx";
import { Kbd } from "../ui/button.tsx";

const load = async () => (await import("./palette.tsx")).Palette;

type KeyPress = Pick<
  KeyboardEvent,
  "key" | "code" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey" | "repeat"
>;

/** Ctrl+K or Cmd+K, on a keyboard with other letters the same key; a held key counts once. */
export function isPaletteKey(press: KeyPress): boolean {
  const { key, code, ctrlKey, metaKey, altKey, shiftKey, repeat } = press;
  if (ctrlKey === metaKey || altKey || shiftKey || repeat) return false;
  const isLatin = /^[a-z]$/i.test(key);
  return isLatin ? key.toLowerCase() === "k" : code === "KeyK";
}

/** Registered before the listeners of a page, since the keys of the editor can be changed to any. */
function usePaletteKey(): void {
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (!isPaletteKey(event)) return;
      // Otherwise a browser goes to its own search.
      event.preventDefault();
      event.stopImmediatePropagation();
      if (paletteOpen.get()) paletteOpen.set(false);
      else if (!isBehindDialog()) paletteOpen.set(true);
    };
    window.addEventListener("keydown", press, { capture: true });
    return () => window.removeEventListener("keydown", press, { capture: true });
  }, []);
}

/** The palette of commands and the key that opens it. It is loaded when it is opened for the first time. */
export function PaletteDoor() {
  const isOpen = useOpening(paletteOpen);
  const showFailure = useFailureToast();
  const [Palette, setPalette] = useState<ComponentType | null>(null);
  usePaletteKey();
  const isWanted = isOpen && Palette === null;
  useEffect(() => {
    if (!isWanted) return;
    load().then(
      (loaded) => setPalette(() => loaded),
      (error: unknown) => {
        paletteOpen.set(false);
        showFailure(error);
      },
    );
  }, [isWanted, showFailure]);
  return Palette === null ? null : <Palette />;
}

/** Opens the palette, and shows the key that does so, too. */
export function PaletteButton() {
  const t = useTranslations("palette");
  return (
    <button
      type="button"
      aria-haspopup="dialog"
      aria-keyshortcuts="Control+K"
      onClick={() => paletteOpen.set(true)}
      onPointerEnter={() => void load().catch(() => undefined)}
      className="mb-4 flex h-9 items-center gap-3 rounded-control border border-line px-2 text-sm text-quiet transition-colors duration-120 hover:bg-hover hover:text-ink"
    >
      <Search className="size-[18px] shrink-0" strokeWidth={1.75} aria-hidden />
      <span className="flex-1 truncate text-start">{t("open")}</span>
      <Kbd keys="Control+K" />
    </button>
  );
}
