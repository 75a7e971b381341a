"use client";
import { Keyboard } from "lucide-react";
import { useTranslations } from "next-intl";
import { useRouter } from "next/navigation";
import { useLayoutEffect } from "react";
import { useMe } from "../client/queries.ts";
import { EditKeyRows } from "../edit/tools/key-rows.tsx";
import { IconButton, Kbd } from "../ui/button.tsx";
import { Dialog } from "../ui/overlays.tsx";
import { navItems } from "./nav-items.ts";
import { shortcutsOpen, useOpening } from "./openings.ts";
import { isTyping } from "./run-button.tsx";

/** Every shortcut, for the dialog and the settings page. `keys` in the notation of `aria-keyshortcuts`. */
const shortcutGroups = [
  {
    key: "everywhere",
    items: [
      { key: "palette", keys: "Control+K" },
      { key: "help", keys: "?" },
      { key: "search", keys: "/" },
      { key: "goStudio", keys: "g s" },
      { key: "goWardrobe", keys: "g w" },
      { key: "goCreate", keys: "g c" },
      { key: "goGallery", keys: "g g" },
      { key: "goJobs", keys: "g j" },
      { key: "goAssistant", keys: "g t" },
      { key: "goSettings", keys: "g e" },
      { key: "goAdmin", keys: "g a" },
      { key: "close", keys: "Escape" },
    ],
  },
  {
    key: "studio",
    items: [
      { key: "run", keys: "Control+Enter" },
      { key: "earlierPrompt", keys: "Alt+ArrowUp Alt+ArrowDown" },
      { key: "original", keys: "Space" },
    ],
  },
  {
    key: "gallery",
    items: [
      { key: "move", keys: "ArrowLeft ArrowRight" },
      { key: "moveInStack", keys: "ArrowUp ArrowDown" },
      { key: "select", keys: "x" },
      { key: "selectAll", keys: "Control+A" },
      { key: "star", keys: "s" },
      { key: "rate", keys: "1 5" },
      { key: "unrate", keys: "0" },
      { key: "remove", keys: "Delete" },
    ],
  },
  {
    key: "edit",
    items: [
      { key: "paint", keys: "Enter" },
      { key: "acceptCandidate", keys: "Enter" },
      { key: "keepCandidate", keys: "k" },
      { key: "discardCandidates", keys: "Escape" },
    ],
  },
] as const;

export function ShortcutTable() {
  const t = useTranslations("shortcuts");
  const isAdmin = useMe()?.isAdmin === true;
  return (
    <div className="gap-x-10 sm:columns-2">
      {shortcutGroups.map((group) => (
        <section key={group.key} className="mb-6" aria-labelledby={`shortcuts-${group.key}`}>
          <h3 id={`shortcuts-${group.key}`} className="mb-2 break-after-avoid text-xs font-medium text-quiet">
            {t(`groups.${group.key}`)}
          </h3>
          <dl>
            {group.key === "edit" ? <EditKeyRows /> : null}
            {group.items
              .filter((item) => isAdmin || item.key !== "goAdmin")
              .map((item) => (
                <div key={item.key} className="flex min-h-8 items-center justify-between gap-4 py-1 text-xs">
                  <dt>{t(`actions.${item.key}`)}</dt>
                  <dd className="shrink-0">
                    <span className="sr-only">{item.keys}</span>
                    <Kbd keys={item.keys} />
                  </dd>
                </div>
              ))}
          </dl>
        </section>
      ))}
    </div>
  );
}

export function ShortcutsButton() {
  const t = useTranslations("shortcuts");
  return (
    <IconButton label={t("title")} keys="?" side="top" onClick={() => shortcutsOpen.set(true)}>
      <Keyboard strokeWidth={1.75} aria-hidden />
    </IconButton>
  );
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
  // Registered before the listeners of a page: they must not receive the second key of `g s`.
  useLayoutEffect(() => {
    let goUntil = 0;
    const press = (event: KeyboardEvent) => {
      if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      const targets = navItems.filter((item) => item.isForAdmins !== true || isAdmin);
      const target = Date.now() < goUntil ? targets.find((item) => item.goKey === event.key) : undefined;
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
