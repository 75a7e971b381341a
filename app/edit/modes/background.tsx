"use client";
import { Scissors } from "lucide-react";
import { useTranslations } from "next-intl";
import { useCapability } from "../../client/queries.ts";
import { ModeAction, ModeHint, type ModeProps } from "./parts.tsx";

/** Background: what stands out stays, the rest becomes transparent. */
export function BackgroundMode({ image, isBusy, onJob }: ModeProps) {
  const t = useTranslations("edit");
  const capability = useCapability("remove_background");
  const request = { kind: "remove_background", inputs: { image: image.id } } as const;
  const isOff = capability?.available === false;
  return (
    <>
      <ModeHint mode="background" />
      <ModeAction
        icon={<Scissors aria-hidden />}
        label={t("cutOut")}
        obstacle={isOff ? (capability.reason ?? t("modes.none")) : null}
        quoted={isOff ? null : request}
        makeRequest={() => request}
        isBusy={isBusy}
        onJob={onJob}
      />
    </>
  );
}
