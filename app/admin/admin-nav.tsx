"use client";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { usePathname } from "next/navigation";

const pages = [
  { key: "overview", href: "/admin" },
  { key: "queues", href: "/admin/queues" },
  { key: "nodes", href: "/admin/nodes" },
  { key: "jobs", href: "/admin/jobs" },
  { key: "users", href: "/admin/users" },
] as const;

export function AdminNav() {
  const t = useTranslations("admin");
  const pathname = usePathname();
  const isHere = (href: string) => (href === "/admin" ? pathname === href : pathname.startsWith(href));
  return (
    <nav
      aria-label={t("navigation")}
      className="no-scrollbar overflow-x-auto border-b border-line px-4 pt-3 sm:px-6 wide:px-8 wide:pt-5"
    >
      <ul className="flex gap-5">
        {pages.map(({ key, href }) => (
          <li key={key} className="shrink-0">
            <Link
              href={href}
              aria-current={isHere(href) ? "page" : undefined}
              className="-mb-px flex h-10 items-center border-b-2 border-transparent text-sm text-quiet transition-colors duration-120 hover:text-ink aria-[current=page]:border-ink aria-[current=page]:font-medium aria-[current=page]:text-ink"
            >
              {t(`pages.${key}`)}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
