"use client";
import { Search } from "lucide-react";
import { useTranslations } from "next-intl";
import { type ComponentType, useEffect, useState } from "react";
import { loadCode } from "../ui/code.ts";
import { useFailureToast } from "../ui/failures.ts";
import { paletteOpen, useOpening } from "../parts/openings.ts";
import { Kbd } from "../ui/button.tsx";
import { useEarlyKeys } from "./early-keys.ts";

const close = () => paletteOpen.set(false);

const load = async () => (await loadCode(() => import("./palette.tsx"))).Palette;

/** The palette of commands. It is loaded when it is opened for the first time. */
export function PaletteDoor() {
  const isOpen = useOpening(paletteOpen);
  const showFailure = useFailureToast();
  const [Palette, setPalette] = useState<ComponentType | null>(null);
  useEarlyKeys(close);
  const isWanted = isOpen && Palette === null;
  useEffect(() => {
    if (!isWanted) return;
    load().then(
      (loaded) => setPalette(() => loaded),
      (error: unknown) => {
        close();
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
