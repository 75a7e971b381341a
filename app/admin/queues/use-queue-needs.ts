"use client";
import type { QueueFigures } from "@atelier/server/monitoring";
import { useTranslations } from "next-intl";

/** What a queue asks of a node, in words. */
export function useQueueNeeds(): (needs: QueueFigures["needs"]) => string {
  const t = useTranslations("admin.queues");
  const jobs = useTranslations("jobs");
  return (needs) => {
    if (needs === null) return t("unknown");
    const kindName = (kind: string) => {
      const key = `kinds.${kind}` as "kinds.upscale";
      return jobs.has(key) ? jobs(key) : kind;
    };
    const parts = [
      needs.minVramGib > 0 && t("vram", { gib: needs.minVramGib }),
      needs.minCores > 0 && t("cores", { count: needs.minCores }),
      needs.minMemoryGib > 0 && t("memory", { gib: needs.minMemoryGib }),
      needs.kinds && t("kinds", { kinds: needs.kinds.map(kindName).join(", ") }),
      needs.models && t("models", { models: needs.models.join(", ") }),
    ].filter((part) => typeof part === "string");
    return parts.length === 0 ? t("asksNothing") : parts.join(", ");
  };
}
