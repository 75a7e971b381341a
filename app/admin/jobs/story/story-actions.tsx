"use client";
import type { AnyStory } from "@atelier/server/jobs";
import { RotateCcw, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useRouter } from "next/navigation";
import { api } from "../../../client/api.ts";
import { hasEnded } from "../../../live/live-state.ts";
import { Button } from "../../../ui/button.tsx";
import { Segmented } from "../../../ui/segmented.tsx";
import { ConfirmButton } from "../../controls.tsx";
import { useAdminAction } from "../../parts/use-admin-action.ts";

const tiers = ["low", "normal", "high", "urgent"] as const satisfies readonly AnyStory["tier"][];

function TierChoice({ job: { id, tier } }: { readonly job: AnyStory }) {
  const t = useTranslations("admin.jobs");
  const change = useAdminAction((wanted: AnyStory["tier"]) =>
    api.admin.jobs.setTier.mutate({ id, tier: wanted }),
  );
  return (
    <Segmented
      label={t("tier")}
      value={change.isPending ? change.variables : tier}
      options={tiers.map((value) => ({ value, label: t(`tiers.${value}`) }))}
      onChange={(value) => change.mutate(value)}
    />
  );
}

/** Tier and cancel while it is open; another run once it has failed. */
export function StoryActions({ job }: { readonly job: AnyStory }) {
  const t = useTranslations("admin.story");
  const router = useRouter();
  const { id, status } = job;
  const cancel = useAdminAction(() => api.admin.jobs.cancel.mutate({ id }));
  const retry = useAdminAction(async () => {
    const { id: newId } = await api.admin.jobs.retry.mutate({ id });
    router.push(`/admin/jobs/${newId}`);
  });
  if (status === "completed") return null;
  if (hasEnded(job)) {
    return (
      <div>
        <Button size="small" disabled={retry.isPending} onClick={() => retry.mutate()}>
          <RotateCcw aria-hidden />
          {t("retry")}
        </Button>
      </div>
    );
  }
  return (
    <div className="flex flex-wrap items-center gap-3">
      <TierChoice job={job} />
      {job.cancelRequested ? null : (
        <ConfirmButton
          label={t("cancel")}
          question={t("cancelAsk")}
          confirm={t("cancelYes")}
          isPending={cancel.isPending}
          onConfirm={() => cancel.mutate()}
        >
          <X aria-hidden />
          {t("cancel")}
        </ConfirmButton>
      )}
    </div>
  );
}
