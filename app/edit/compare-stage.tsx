"use client";
import type { ImageView } from "@atelier/server/images";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { imageUrl } from "../data/image-url.ts";
import { CompareSlider } from "../pictures/compare-slider.tsx";
import { fitBox } from "../ui/fit-box.ts";
import { useBoxSize } from "../ui/use-box-size.ts";

interface Props {
  readonly image: ImageView;
  readonly baseId: string;
}

/** Two versions over each other. */
export function CompareStage({ image, baseId }: Props) {
  const t = useTranslations("edit");
  const [box, setBox] = useState<HTMLDivElement | null>(null);
  const size = fitBox(useBoxSize(box), image);
  return (
    <div className="min-h-0 min-w-0 flex-1 p-6">
      <div ref={setBox} className="flex size-full items-center justify-center">
        <div style={size}>
          <CompareSlider
            beforeUrl={imageUrl(baseId, "preview")}
            afterUrl={imageUrl(image.id, "preview")}
            afterAlt={t("pictureAlt")}
            className="checker size-full"
          />
        </div>
      </div>
    </div>
  );
}
