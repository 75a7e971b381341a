"use client";
import { useTranslations } from "next-intl";
import { useMe } from "../../data/use-me.ts";
import { Kbd } from "../../ui/kbd.tsx";
import { shortcutGroups } from "./shortcut-list.ts";

export function ShortcutTable() {
  const t = useTranslations("shortcuts");
  const isAdmin = useMe()?.isAdmin === true;
  return (
    <div className="grid gap-x-10 gap-y-6 sm:grid-cols-2">
      {shortcutGroups.map((group) => (
        <section key={group.key} aria-labelledby={`shortcuts-${group.key}`}>
          <h3 id={`shortcuts-${group.key}`} className="mb-2 text-xs font-medium text-quiet">
            {t(`groups.${group.key}`)}
          </h3>
          <dl>
            {group.items
              .filter((item) => isAdmin || item.key !== "goAdmin")
              .map((item) => (
                <div key={item.key} className="flex h-8 items-center justify-between gap-4 text-xs">
                  <dt>{t(`actions.${item.key}`)}</dt>
                  <dd>
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
