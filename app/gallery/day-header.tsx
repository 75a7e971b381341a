"use client";
import { useFormatter, useTranslations } from "next-intl";
import { useState } from "react";
import { dayOf } from "./sheet-lines.ts";

const dayMs = 86_400_000;

export function DayHeader({ day }: { readonly day: string }) {
  const t = useTranslations("gallery");
  const format = useFormatter();
  const [now] = useState(() => Date.now());
  const today = dayOf(new Date(now).toISOString());
  const yesterday = dayOf(new Date(now - dayMs).toISOString());
  const date = new Date(`${day}T12:00:00`);
  const sameYear = day.slice(0, 4) === today.slice(0, 4);
  const words = format.dateTime(date, {
    weekday: "long",
    day: "numeric",
    month: "long",
    year: sameYear ? undefined : "numeric",
  });
  return (
    <h2 className="flex h-full items-end gap-2 pb-2.5 text-sm">
      {day === today ? <span className="font-medium">{t("today")}</span> : null}
      {day === yesterday ? <span className="font-medium">{t("yesterday")}</span> : null}
      <span className={day === today || day === yesterday ? "text-quiet" : "font-medium"}>{words}</span>
    </h2>
  );
}
