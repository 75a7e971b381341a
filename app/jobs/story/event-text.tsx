"use client";
import type { JobEventType, JobEventView } from "@atelier/server/jobs";
import { useTranslations } from "next-intl";
import { useJobFailureText } from "../use-job-failure-text.ts";

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Host and port of an address. */
function hostOf(address: unknown): string {
  return text(address).replace(/^https?:\/\//, "");
}

/** One event as a sentence. */
export function EventText({ event }: { readonly event: JobEventView }) {
  const t = useTranslations("story.events");
  const stages = useTranslations("stages");
  const textOf = useJobFailureText();
  const { data, type } = event;
  if (type === "progress") {
    const stage = text(data.stage) as "reading";
    const percent = typeof data.progress === "number" ? Math.round(data.progress * 100) : 0;
    return (
      <p className="text-sm text-quiet">
        {t("progress", { percent, stage: stages.has(stage) ? stages(stage) : stage })}
      </p>
    );
  }
  if (type === "failed" || type === "requeued") {
    const next = `next.${text(data.next)}` as "next.other_server";
    const { title, advice } = textOf({ code: text(data.code) as "internal", message: text(data.message) });
    return (
      <>
        <p className="text-sm">{t(type)}</p>
        {t.has(next) ? <p className="text-sm">{t(next)}</p> : null}
        {text(data.code) === "" ? null : <p className="text-xs text-quiet">{`${title}. ${advice}`}</p>}
      </>
    );
  }
  if (type === "posted") return <p className="text-sm">{t(type, { server: hostOf(data.server) })}</p>;
  // A cast that holds for every type that is written: one without words does not compile.
  const key = type as JobEventType;
  return <p className="text-sm">{t.has(key) ? t(key) : type.replaceAll("_", " ")}</p>;
}
