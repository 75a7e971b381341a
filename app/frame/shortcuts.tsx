"use client";
import { Keyboard } from "lucide-react";
import { useTranslations } from "next-intl";
import { useRouter } from "next/navigation";
import { useEffect, useLayoutEffect } from "react";
import { useFailureToast } from "../ui/failures.ts";
import { useMe } from "../client/queries.ts";
import { isPaletteKey, repeatFirstKeys } from "../palette/first-keys.ts";
import { IconButton } from "../ui/button.tsx";
import { isCombined, keyOf } from "../ui/key-press.ts";
import { later } from "../ui/later.tsx";
import { Dialog } from "../ui/overlays.tsx";
import { navItems } from "../parts/nav-items.ts";
import { paletteOpen, shortcutsOpen, useOpening } from "../parts/openings.ts";
import { isBehindDialog, isTyping } from "../parts/run-button.tsx";

const ShortcutTable = later(async () => (await import("./shortcut-table.tsx")).ShortcutTable);
const noProps = {};

export function ShortcutsButton() {
  const t = useTranslations("shortcuts");
  return (
    <IconButton label={t("title")} keys="?" side="top" onClick={() => shortcutsOpen.set(true)}>
      <Keyboard strokeWidth={1.75} aria-hidden />
    </IconButton>
  );
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
  useEffect(() => repeatFirstKeys(paletteOpen.get), []);
}

const goWithinMs = 1_200;

function focusSearch(): boolean {
  const search = document.querySelector<HTMLInputElement>("input[type=search]");
  search?.focus();
  return search !== null;
}

/** The keys that work on every page, and the dialog that lists all. */
export function Shortcuts() {
  const t = useTranslations("shortcuts");
  const router = useRouter();
  const isAdmin = useMe()?.isAdmin === true;
  const isOpen = useOpening(shortcutsOpen);
  const showFailure = useFailureToast();
  usePaletteKey();
  // Registered before the listeners of a page: they must not receive the second key of `g s`.
  useLayoutEffect(() => {
    let goUntil = 0;
    const press = (event: KeyboardEvent) => {
      // A key that is held is one press: otherwise a held `g` is `g g`.
      if (event.repeat || isTyping(event) || isCombined(event)) return;
      const key = keyOf(event);
      const targets = navItems.filter((item) => item.isForAdmins !== true || isAdmin);
      const target = Date.now() < goUntil ? targets.find((item) => item.goKey === key) : undefined;
      goUntil = 0;
      if (target !== undefined) router.push(target.href);
      else if (key === "g") goUntil = Date.now() + goWithinMs;
      else if (key === "?") shortcutsOpen.set(true);
      else if (key === "/") {
        event.preventDefault();
        if (!focusSearch()) router.push("/gallery?search=");
      } else return;
      event.stopImmediatePropagation();
    };
    window.addEventListener("keydown", press, { capture: true });
    return () => window.removeEventListener("keydown", press, { capture: true });
  }, [isAdmin, router]);
  return (
    <Dialog open={isOpen} onOpenChange={shortcutsOpen.set} title={t("title")}>
      <ShortcutTable isWanted onFailure={showFailure} props={noProps} />
    </Dialog>
  );
}
