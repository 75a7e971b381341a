"use client";
import { useTranslations } from "next-intl";
import { useEffect, useState } from "react";
import { live } from "../live/live.ts";
import { shownKind } from "../jobs/shown-kind.ts";

/** Makes the same words a new text, since a screen reader speaks only of what changed. */
const unheard = "\u00a0";

/** Tells screen readers how a job ended. */
export function Announcer() {
  const t = useTranslations("jobs");
  const [text, setText] = useState("");
  useEffect(
    () =>
      live.onEnd((job) => {
        const status = job.status === "completed" || job.status === "failed" ? job.status : "cancelled";
        const next = t(`announce.${status}`, { kind: t(`kinds.${shownKind(job)}`) });
        setText((shown) => (shown === next ? next + unheard : next));
      }),
    [t],
  );
  return (
    <p aria-live="polite" className="sr-only">
      {text}
    </p>
  );
}
