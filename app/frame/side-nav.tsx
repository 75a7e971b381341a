"use client";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { usePathname } from "next/navigation";
import { AccountLink } from "./account-link.tsx";
import { Logo } from "./logo.tsx";
import { isCurrent, navItems } from "./nav-items.ts";
import { ShortcutsButton } from "./shortcuts/shortcuts-button.tsx";

export function SideNav() {
  const t = useTranslations("frame");
  const pathname = usePathname();
  return (
    <nav
      aria-label={t("navigation")}
      className="fixed inset-y-0 left-0 z-20 hidden w-[200px] flex-col border-r border-line bg-paper px-3 py-5 wide:flex"
    >
      <Link href="/" className="mb-7 self-start rounded-control px-2" aria-label={t("home")}>
        <Logo />
      </Link>
      <ul className="flex flex-col gap-0.5">
        {navItems.map((item) => (
          <li key={item.key}>
            <Link
              href={item.href}
              aria-current={isCurrent(item, pathname) ? "page" : undefined}
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
