"use client";
import type { JobView } from "@atelier/server/jobs";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { imageUrl } from "../data/image-url.ts";
import { useIsGone } from "../data/use-is-gone.ts";
import { AiBadge } from "../pictures/ai-badge.tsx";
import { CompareSlider } from "../pictures/compare-slider.tsx";
import { fitBox } from "../ui/fit-box.ts";
import { useBoxSize } from "../ui/use-box-size.ts";

/** A finished result, compared with the photo it came from. */
export function ResultDone({ job }: { readonly job: JobView }) {
  const t = useTranslations("studio");
  const [box, setBox] = useState<HTMLDivElement | null>(null);
  const size = useBoxSize(box);
  const [output] = job.outputs;
  const personId = job.inputs.find((input) => input.role === "person")?.imageId;
  const isGone = useIsGone(output?.imageId ?? null);
  if (output === undefined || personId === undefined || isGone)
    return <p className="text-sm text-quiet">{t("resultGone")}</p>;
  const shown = fitBox(size, output);
  return (
    <div ref={setBox} className="flex size-full items-center justify-center">
      <div className="relative animate-develop" style={shown}>
        <CompareSlider
          beforeUrl={imageUrl(personId, "preview")}
          afterUrl={imageUrl(output.imageId, "preview")}
          afterAlt={t("resultAlt")}
          className="size-full"
        />
        <span className="pointer-events-none absolute right-2 bottom-2">
          <AiBadge />
        </span>
      </div>
    </div>
  );
}
