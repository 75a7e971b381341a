"use client";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { AccountLink } from "./account-link.tsx";
import { Logo } from "./logo.tsx";
import { ShortcutsButton } from "./shortcuts/shortcuts-button.tsx";
import { useNavItems } from "./use-nav-items.ts";

export function SideNav({ hadCreate }: { readonly hadCreate: boolean }) {
  const t = useTranslations("frame");
  const items = useNavItems(hadCreate);
  return (
    <nav
      aria-label={t("navigation")}
      className="fixed inset-y-0 left-0 z-20 hidden w-[200px] flex-col border-r border-line bg-paper px-3 py-5 wide:flex"
    >
      <Link href="/" className="mb-7 self-start rounded-control px-2" aria-label={t("home")}>
        <Logo />
      </Link>
      <ul className="flex flex-col gap-0.5">
        {items.map((item) => (
          <li key={item.key}>
            <Link
              href={item.href}
              aria-current={item.isCurrent ? "page" : undefined}
              className="flex h-9 items-center gap-3 rounded-control px-2 text-sm text-quiet transition-colors duration-120 hover:bg-hover hover:text-ink aria-[current=page]:bg-hover aria-[current=page]:font-medium aria-[current=page]:text-ink"
            >
              <item.icon className="size-[18px]" strokeWidth={1.75} aria-hidden />
              {t(`pages.${item.key}`)}
            </Link>
          </li>
        ))}
      </ul>
      <div className="mt-auto flex items-center gap-1">
        <AccountLink />
        <ShortcutsButton />
      </div>
    </nav>
  );
}
