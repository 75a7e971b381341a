"use client";
import { useTranslations } from "next-intl";
import { useMemo, useState } from "react";
import type { ImageView } from "@atelier/server/images";
import { useImage } from "../../client/queries.ts";
import { Pane, useLinkedView } from "../../compare/linked-view.tsx";
import { ComparedSettings } from "../../compare/settings.tsx";
import { DifferencePair, type Pair, SliderPair, type Way, WayChoice } from "../../compare/ways.tsx";

function LinkedPair({ left, right, names, alt }: Pair) {
  const linked = useLinkedView();
  return (
    <div className="flex size-full gap-2 max-wide:flex-col">
      <Pane image={left} linked={linked} alt={alt} label={names[0]} />
      <Pane image={right} linked={linked} alt={alt} label={names[1]} />
    </div>
  );
}

function BeforeAndAfter({ left, right, alt }: Pair) {
  return <SliderPair left={left} right={right} alt={alt} />;
}

const pairs = { slider: BeforeAndAfter, side: LinkedPair, difference: DifferencePair } as const;

interface ComparedProps extends Omit<Pair, "alt"> {
  readonly way: Way;
}

function Compared({ way, ...pair }: ComparedProps) {
  const t = useTranslations("edit");
  const { left, right, names } = pair;
  const compared = useMemo(() => [left, right], [left, right]);
  const Shown = pairs[way];
  return (
    <>
      <div className="min-h-0 flex-1">
        <Shown {...pair} alt={t("pictureAlt")} />
      </div>
      <ComparedSettings
        images={compared}
        names={names}
        className="mx-auto max-h-[24dvh] w-full max-w-[840px]"
      />
    </>
  );
}

interface CompareStageProps {
  readonly image: ImageView;
  readonly baseId: string;
  /** What the two are called in the strip. */
  readonly names: Pair["names"];
}

/** Compares two versions: by a slider, side by side, or by what is different; and says in which settings they differ. */
export function CompareStage({ image, baseId, names }: CompareStageProps) {
  const t = useTranslations("edit");
  const [way, setWay] = useState<Way>("slider");
  const { data: base } = useImage(baseId);
  return (
    <section aria-label={t("compare")} className="flex min-h-0 min-w-0 flex-1 flex-col gap-3 p-3 wide:p-4">
      <div className="flex justify-center">
        <WayChoice way={way} onChange={setWay} />
      </div>
      {base === undefined ? (
        <div className="min-h-0 flex-1" />
      ) : (
        <Compared left={base} right={image} names={names} way={way} />
      )}
    </section>
  );
}
