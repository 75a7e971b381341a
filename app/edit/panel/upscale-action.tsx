"use client";
import { Maximize2 } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { useCapability } from "../../client/queries.ts";
import { useSubmit } from "../../data/use-submit.ts";
import { useWorkflows } from "../../data/use-workflows.ts";
import { useUpscaleOffer } from "../../pictures/use-upscale-offer.ts";
import { Button } from "../../ui/button.tsx";
import { Segmented } from "../../ui/segmented.tsx";
import { findForScale } from "../action-row.tsx";
import { type ActionProps, ActionRow } from "./action-row.tsx";

/** Whether anything live can enlarge fourfold, and the workflow that does unless another engine is nearer. */
function useFourfold() {
  const workflow = findForScale(useWorkflows("upscale"), 4);
  const hasIopaint = useCapability("upscale")?.engines.includes("iopaint") ?? false;
  return { isThere: hasIopaint || workflow !== undefined, workflow };
}

export function UpscaleAction({ image, isBusy, onJob, start }: ActionProps & { readonly start: 2 | 4 }) {
  const t = useTranslations("edit");
  const submit = useSubmit(onJob);
  const [wished, setWished] = useState<2 | 4>(start);
  const fourfold = useFourfold();
  const scale = fourfold.isThere ? wished : 2;
  const offer = useUpscaleOffer(image, scale);
  const workflow = scale === 4 ? fourfold.workflow : undefined;
  const upscale = () =>
    submit.mutate({
      kind: "upscale",
      ...(workflow === undefined ? {} : { workflow: workflow.name }),
      params: { scale },
      inputs: { image: image.id },
    });
  return (
    <ActionRow hint={offer.reason ?? t("upscaleTo", { size: offer.size })}>
      <div className="flex gap-2">
        <Button
          className="min-w-0 flex-1"
          disabled={isBusy || submit.isPending || !offer.isPossible}
          onClick={upscale}
        >
          <Maximize2 aria-hidden />
          {t("upscale", { scale })}
        </Button>
        {fourfold.isThere ? (
          <Segmented
            label={t("upscaleBy")}
            value={String(scale)}
            onChange={(next) => setWished(next === "4" ? 4 : 2)}
            options={[
              { value: "2", label: "×2" },
              { value: "4", label: "×4" },
            ]}
          />
        ) : null}
      </div>
    </ActionRow>
  );
}
