"use client";
import { useTranslations } from "next-intl";
import { useMe } from "../client/queries.ts";
import { EditKeyRows } from "../edit/tools/key-rows.tsx";
import { Kbd } from "../ui/button.tsx";

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
      { key: "zoom", keys: "+ -" },
      { key: "zoomActual", keys: "z" },
      { key: "moveEnlarged", keys: "ArrowLeft ArrowRight ArrowUp ArrowDown" },
      { key: "leaveEnlarged", keys: "Shift+ArrowLeft Shift+ArrowRight" },
      { key: "select", keys: "x" },
      { key: "selectAll", keys: "Control+A" },
      { key: "compare", keys: "c" },
      { key: "showOnTop", keys: "t" },
      { key: "info", keys: "i" },
      { key: "star", keys: "s" },
      { key: "rate", keys: "1 5" },
      { key: "unrate", keys: "0" },
      { key: "copyPicture", keys: "Control+C" },
      { key: "turn", keys: "r" },
      { key: "turnBack", keys: "Shift+R" },
      { key: "slideshow", keys: "p" },
      { key: "orderBoards", keys: "Alt+ArrowUp Alt+ArrowDown" },
      { key: "remove", keys: "Delete" },
      { key: "nextGroup", keys: "j k" },
      { key: "merge", keys: "Enter" },
      { key: "dismiss", keys: "n" },
    ],
  },
  {
    key: "compare",
    items: [
      { key: "otherPicture", keys: "ArrowLeft ArrowRight" },
      { key: "swap", keys: "w" },
      { key: "drop", keys: "x" },
      { key: "leaveComparison", keys: "Escape" },
    ],
  },
  {
    key: "assistant",
    items: [
      { key: "newTalk", keys: "Control+Shift+O" },
      { key: "moveTalk", keys: "ArrowUp ArrowDown" },
      { key: "renameTalk", keys: "F2" },
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
