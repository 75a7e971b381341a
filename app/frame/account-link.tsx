"use client";
import { CircleUserRound } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useMe } from "../data/use-me.ts";

/** Who uses the studio; a guest is led to making an account. */
export function AccountLink() {
  const t = useTranslations("frame");
  const me = useMe();
  const isGuest = me?.isGuest ?? true;
  return (
    <Link
      href={isGuest ? "/sign-in" : "/settings"}
      className="flex h-9 min-w-0 flex-1 items-center gap-3 rounded-control px-2 text-sm text-quiet transition-colors duration-120 hover:bg-hover hover:text-ink"
    >
      <CircleUserRound className="size-[18px] shrink-0" strokeWidth={1.75} aria-hidden />
      <span className="truncate">{isGuest ? t("signIn") : me?.name}</span>
    </Link>
  );
}
