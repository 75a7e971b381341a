"use client";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { ImageView } from "@atelier/server/images";
import { imageUrl } from "../client/urls.ts";
import { CompareSlider } from "../pictures/compare-slider.tsx";
import { Segmented } from "../ui/fields.tsx";
import { fitBox, useBoxSize } from "../ui/box-size.ts";
import { Pane, useLinkedView } from "./linked-view.tsx";

const ways = ["slider", "side", "difference"] as const;
export type Way = (typeof ways)[number];

interface WayChoiceProps {
  readonly way: Way;
  readonly onChange: (way: Way) => void;
}

/** How two pictures are compared. */
export function WayChoice({ way, onChange }: WayChoiceProps) {
  const t = useTranslations("compare");
  return (
    <Segmented
      label={t("way")}
      value={way}
      onChange={onChange}
      options={ways.map((value) => ({ value, label: t(`ways.${value}`) }))}
    />
  );
}

export interface Pair {
  readonly left: ImageView;
  readonly right: ImageView;
  readonly names: readonly [left: string, right: string];
  /** Of the right one. */
  readonly alt: string;
}

interface SliderPairProps extends Omit<Pair, "names"> {
  /** By default the left one is before a change, and the right one after it. */
  readonly names?: Pair["names"];
}

/** Two pictures at one place, parted by a line. */
export function SliderPair({ left, right, names, alt }: SliderPairProps) {
  const [box, setBox] = useState<HTMLDivElement | null>(null);
  const size = fitBox(useBoxSize(box), right);
  return (
    <div ref={setBox} className="flex size-full items-center justify-center">
      <div style={size}>
        <CompareSlider
          beforeUrl={imageUrl(left.id, "preview")}
          afterUrl={imageUrl(right.id, "preview")}
          afterAlt={alt}
          names={names}
          className="checker size-full"
        />
      </div>
    </div>
  );
}

interface DifferencePairProps extends Pick<Pair, "left" | "right"> {
  readonly takesKeys?: boolean;
}

/** What is different between two pictures: the rest is black. */
export function DifferencePair({ left, right, takesKeys }: DifferencePairProps) {
  const t = useTranslations("compare");
  return (
    <div className="flex size-full">
      <Pane
        image={right}
        linked={useLinkedView()}
        alt={t("differenceAlt")}
        differenceTo={left.id}
        takesKeys={takesKeys}
      />
    </div>
  );
}
