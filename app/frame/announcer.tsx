"use client";
import { useTranslations } from "next-intl";
import { useEffect, useState } from "react";
import { live } from "../live/live.ts";

/** Tells screen readers how a job ended. */
export function Announcer() {
  const t = useTranslations("jobs");
  const [text, setText] = useState("");
  useEffect(
    () =>
      live.onEnd((job) => {
        const status = job.status === "completed" || job.status === "failed" ? job.status : "cancelled";
        setText(t(`announce.${status}`, { kind: t(`kinds.${job.kind}`) }));
      }),
    [t],
  );
  return (
    <p aria-live="polite" className="sr-only">
      {text}
    </p>
  );
}
