"use client";
import { ScanFace } from "lucide-react";
import { useTranslations } from "next-intl";
import { useCapability } from "../../client/queries.ts";
import { useSubmit } from "../../data/use-submit.ts";
import { Button } from "../../ui/button.tsx";
import { type ActionProps, ActionRow } from "./action-row.tsx";

/** There once something was connected that can do it. */
export function RestoreFacesAction({ image, isBusy, onJob }: ActionProps) {
  const t = useTranslations("edit");
  const submit = useSubmit(onJob);
  const capability = useCapability("restore_faces");
  if (capability?.available !== true) return null;
  return (
    <ActionRow hint={capability.reason ?? t("restoreFacesHint")}>
      <Button
        disabled={isBusy || submit.isPending}
        onClick={() => submit.mutate({ kind: "restore_faces", inputs: { image: image.id } })}
      >
        <ScanFace aria-hidden />
        {t("restoreFaces")}
      </Button>
    </ActionRow>
  );
}
