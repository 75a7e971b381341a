"use client";
import { Scissors } from "lucide-react";
import { useTranslations } from "next-intl";
import { useCapability } from "../../client/queries.ts";
import { useSubmit } from "../../data/use-submit.ts";
import { Button } from "../../ui/button.tsx";
import { type ActionProps, ActionRow } from "./action-row.tsx";

export function CutOutAction({ image, isBusy, onJob }: ActionProps) {
  const t = useTranslations("edit");
  const submit = useSubmit(onJob);
  const capability = useCapability("remove_background");
  return (
    <ActionRow hint={capability?.reason ?? t("cutOutHint")}>
      <Button
        disabled={isBusy || submit.isPending || capability?.available === false}
        onClick={() => submit.mutate({ kind: "remove_background", inputs: { image: image.id } })}
      >
        <Scissors aria-hidden />
        {t("cutOut")}
      </Button>
    </ActionRow>
  );
}
