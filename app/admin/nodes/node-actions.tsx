"use client";
import type { NodeFigures } from "@atelier/server/monitoring";
import { CirclePause, CirclePlay, LogOut, SlidersHorizontal } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { api } from "../../client/api.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmButton } from "../controls.tsx";
import { useAdminAction } from "../parts/use-admin-action.ts";
import { NodeSettingsForm } from "./node-controls.tsx";

/** Drain takes back at once and so needs no question; retire does not. */
function DrainOrResume({ node: { id, name, state } }: { readonly node: NodeFigures }) {
  const t = useTranslations("admin.nodes");
  const drain = useAdminAction(() => api.admin.nodes.drain.mutate({ id }));
  const resume = useAdminAction(() => api.admin.nodes.resume.mutate({ id }));
  const isBusy = drain.isPending || resume.isPending;
  return state === "active" ? (
    <Button
      size="small"
      aria-label={t("drainNamed", { name })}
      disabled={isBusy}
      onClick={() => drain.mutate()}
    >
      <CirclePause aria-hidden />
      {t("drain")}
    </Button>
  ) : (
    <Button
      size="small"
      aria-label={t("resumeNamed", { name })}
      disabled={isBusy}
      onClick={() => resume.mutate()}
    >
      <CirclePlay aria-hidden />
      {t("resume")}
    </Button>
  );
}

/** What an admin can do to a node; all of it can be pressed twice. */
export function NodeActions({ node }: { readonly node: NodeFigures }) {
  const t = useTranslations("admin.nodes");
  const [isOpen, setIsOpen] = useState(false);
  const { id, name } = node;
  const retire = useAdminAction(() => api.admin.nodes.retire.mutate({ id }));
  if (node.retireRequested) return <p className="text-xs text-quiet">{t("retiring")}</p>;
  const canResume = node.state === "active" || node.drainRequested;
  return (
    <div className="flex max-w-full flex-col gap-3 max-sm:w-full sm:ml-auto sm:items-end">
      <div className="flex flex-wrap items-center gap-2">
        {canResume ? <DrainOrResume node={node} /> : null}
        <Button
          size="small"
          aria-expanded={isOpen}
          aria-label={t("settingsNamed", { name })}
          onClick={() => setIsOpen(!isOpen)}
        >
          <SlidersHorizontal aria-hidden />
          {t("settings")}
        </Button>
        <ConfirmButton
          label={t("retireNamed", { name })}
          question={t("retireAsk")}
          confirm={t("retireYes")}
          isPending={retire.isPending}
          onConfirm={() => retire.mutate()}
        >
          <LogOut aria-hidden />
          {t("retire")}
        </ConfirmButton>
      </div>
      {isOpen ? <NodeSettingsForm node={node} onClose={() => setIsOpen(false)} /> : null}
    </div>
  );
}
