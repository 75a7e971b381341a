"use client";
import { WifiOff } from "lucide-react";
import { useTranslations } from "next-intl";
import { useConnection } from "../live/use-live-jobs.ts";

/** Says that live updates are interrupted; the store waits three seconds before it calls it so. */
export function ConnectionNotice() {
  const t = useTranslations("frame");
  const connection = useConnection();
  return (
    <div role="status" className="pointer-events-none fixed inset-x-0 top-3 z-60 flex justify-center">
      {connection === "reconnecting" ? (
        <p className="flex items-center gap-2 rounded-full bg-raised px-4 py-2 text-xs font-medium shadow-float">
          <WifiOff className="size-4 text-warn" aria-hidden />
          {t("reconnecting")}
        </p>
      ) : null}
    </div>
  );
}
