"use client";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useNavItems } from "./use-nav-items.ts";

export function BottomTabs({ hadCreate }: { readonly hadCreate: boolean }) {
  const t = useTranslations("frame");
  const items = useNavItems(hadCreate);
  return (
    <nav
      aria-label={t("navigation")}
      className="fixed inset-x-0 bottom-0 z-20 border-t border-line bg-paper/92 pb-[env(safe-area-inset-bottom)] backdrop-blur-md wide:hidden"
    >
      <ul className="mx-auto flex max-w-[480px]">
        {items.map((item) => (
          <li key={item.key} className="flex-1">
            <Link
              href={item.href}
              aria-current={item.isCurrent ? "page" : undefined}
              className="flex h-14 flex-col items-center justify-center gap-1 text-[11px] font-medium text-quiet aria-[current=page]:text-ink"
            >
              <item.icon className="size-5" strokeWidth={1.75} aria-hidden />
              {t(`pages.${item.key}`)}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
