"use client";
import { Maximize2 } from "lucide-react";
import { useTranslations } from "next-intl";
import { useSubmit } from "../../data/use-submit.ts";
import { useUpscaleOffer } from "../../pictures/use-upscale-offer.ts";
import { Button } from "../../ui/button.tsx";
import { type ActionProps, ActionRow } from "./action-row.tsx";

export function UpscaleAction({ image, isBusy, onJob }: ActionProps) {
  const t = useTranslations("edit");
  const submit = useSubmit(onJob);
  const offer = useUpscaleOffer(image);
  return (
    <ActionRow hint={offer.reason ?? t("upscaleTo", { size: offer.size })}>
      <Button
        disabled={isBusy || submit.isPending || !offer.isPossible}
        onClick={() => submit.mutate({ kind: "upscale", inputs: { image: image.id } })}
      >
        <Maximize2 aria-hidden />
        {t("upscale")}
      </Button>
    </ActionRow>
  );
}
