"use client";
import { useTranslations } from "next-intl";
import { useRouter } from "next/navigation";
import { useLayoutEffect, useSyncExternalStore } from "react";
import { useMe } from "../data/use-me.ts";
import { Dialog } from "../ui/overlays.tsx";
import { navItems } from "./nav-items.ts";
import { isTyping } from "./shortcuts/is-typing.ts";
import { ShortcutTable } from "./shortcuts/shortcut-table.tsx";
import { shortcutsOpen } from "./shortcuts/shortcuts-open.ts";

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
  const isOpen = useSyncExternalStore(shortcutsOpen.watch, shortcutsOpen.get, () => false);
  // Before the listeners of a page, which must not hear the second key of a pair.
  useLayoutEffect(() => {
    let goUntil = 0;
    const press = (event: KeyboardEvent) => {
      if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      const ways = navItems.filter((item) => item.isForAdmins !== true || isAdmin);
      const target = Date.now() < goUntil ? ways.find((item) => item.goKey === event.key) : undefined;
      goUntil = 0;
      if (target !== undefined) router.push(target.href);
      else if (event.key === "g") goUntil = Date.now() + goWithinMs;
      else if (event.key === "?") shortcutsOpen.set(true);
      else if (event.key === "/") {
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
      <ShortcutTable />
    </Dialog>
  );
}
