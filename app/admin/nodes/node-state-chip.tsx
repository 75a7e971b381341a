"use client";
import type { NodeFigures } from "@atelier/server/monitoring";
import { CircleCheck, CirclePause, CircleX, LogOut, Power, type LucideIcon } from "lucide-react";
import { useTranslations } from "next-intl";
import { StateChip, type Tone } from "../parts/state-chip.tsx";

type Look = readonly [LucideIcon, Tone];

const looks = {
  active: [CircleCheck, "ok"],
  draining: [CirclePause, "warn"],
  leaving: [LogOut, "warn"],
  lost: [CircleX, "fail"],
  gone: [Power, "quiet"],
} as const satisfies Record<string, Look>;

/** A node that drains without an admin's word is about to end. */
export function NodeStateChip({ node }: { readonly node: NodeFigures }) {
  const t = useTranslations("admin.nodes.states");
  const isLeaving = node.state === "draining" && (!node.drainRequested || node.retireRequested);
  const state = isLeaving ? "leaving" : node.state;
  const [icon, tone] = looks[state];
  return (
    <StateChip icon={icon} tone={tone}>
      {t(state)}
    </StateChip>
  );
}
