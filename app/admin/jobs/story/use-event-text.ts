"use client";
import type { AnyStory, JobEventType } from "@atelier/server/jobs";
import { useTranslations } from "next-intl";

type Event = AnyStory["events"][number];

const text = (value: unknown) => (typeof value === "string" ? value : "");

/** One event as a sentence, and what the machine added to it. */
export function useEventText(): (event: Event) => { text: string; aside: string | null } {
  const t = useTranslations("admin.story");
  const tiers = useTranslations("admin.jobs.tiers");
  const stages = useTranslations("stages");

  function sentence({ type, data, node }: Event): string {
    if (type === "progress") {
      const stage = text(data.stage) as "reading";
      const percent = typeof data.progress === "number" ? Math.round(data.progress * 100) : 0;
      return t("events.progress", { percent, stage: stages.has(stage) ? stages(stage) : stage });
    }
    if (type === "claimed" && node !== null) return t("events.claimedBy", { node });
    if (type === "moved" && text(data.to) !== "")
      return t("events.movedTo", { from: text(data.from), to: text(data.to) });
    if (type === "tier_changed") {
      const tier = text(data.tier) as "high";
      return t("events.tier_changed", { tier: tiers.has(tier) ? tiers(tier).toLowerCase() : tier });
    }
    if (type === "posted") return t("events.posted", { server: text(data.server) });
    // A cast that holds for every type that is written: one without words does not compile.
    const key = `events.${type as JobEventType}` as const;
    return t.has(key) ? t(key) : type.replaceAll("_", " ");
  }

  /** Of the rest only what is not in the sentence. */
  function aside({ type, data }: Event): string | null {
    const charge = typeof data.charged === "boolean" ? t(`charge.${data.charged ? "yes" : "no"}`) : "";
    const named = [text(data.code).replaceAll("_", " "), text(data.message), text(data.exception), charge];
    const place =
      type === "created" ? [text(data.queue), text(data.need)] : [text(data.server), text(data.reason)];
    const parts = [...named, ...(type === "posted" ? [] : place)].filter((part) => part !== "");
    return parts.length > 0 ? parts.join(" · ") : null;
  }

  return (event) => ({ text: sentence(event), aside: aside(event) });
}
