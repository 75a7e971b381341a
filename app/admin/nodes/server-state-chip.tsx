"use client";
import type { ServerFigures } from "@atelier/server/monitoring";
import {
  CircleCheck,
  CircleDashed,
  CirclePause,
  CircleX,
  type LucideIcon,
  TriangleAlert,
} from "lucide-react";
import { useTranslations } from "next-intl";
import { formatAge } from "../parts/span.ts";
import { StateChip, type Tone } from "../parts/state-chip.tsx";

const looks: Record<ServerFigures["state"], readonly [LucideIcon, Tone]> = {
  unknown: [CircleDashed, "quiet"],
  healthy: [CircleCheck, "ok"],
  degraded: [TriangleAlert, "warn"],
  down: [CircleX, "fail"],
  draining: [CirclePause, "warn"],
};

export function ServerStateChip({ server }: { readonly server: ServerFigures }) {
  const t = useTranslations("admin.servers");
  const state = server.drainRequested && server.state !== "down" ? "draining" : server.state;
  const [icon, tone] = looks[state];
  return (
    <span className="flex flex-wrap items-center gap-x-2 gap-y-0.5">
      <StateChip icon={icon} tone={tone}>
        {t(`states.${state}`)}
      </StateChip>
      <span className="text-quiet">{t("since", { span: formatAge(server.changedMs) })}</span>
    </span>
  );
}
