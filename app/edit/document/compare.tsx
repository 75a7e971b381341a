"use client";
import { useTranslations } from "next-intl";
import { type ReactNode, useState } from "react";
import type { ImageView } from "@atelier/server/images";
import { useImage } from "../../client/queries.ts";
import { useMakingJob } from "../../client/source.ts";
import { imageUrl } from "../../client/urls.ts";
import { useParamFacts } from "../../jobs/placement.tsx";
import { promptsOf } from "../../jobs/params.ts";
import { shownKind } from "../../client/kinds.ts";
import { CompareSlider } from "../../pictures/compare-slider.tsx";
import { Segmented } from "../../ui/fields.tsx";
import { fitBox, useBoxSize } from "../../ui/box-size.ts";
import { Pane, useLinkedView } from "./linked-view.tsx";

type Setting = readonly [name: string, value: ReactNode];

function useSettings(image: ImageView): readonly Setting[] {
  const t = useTranslations("edit");
  const jobs = useTranslations("jobs");
  const pictures = useTranslations("pictures");
  const params = useTranslations("params");
  const job = useMakingJob(image);
  const facts = useParamFacts(job);
  const size: Setting = [
    t("settingSize"),
    pictures("size", { width: image.widthPx, height: image.heightPx }),
  ];
  if (job === undefined) return [[t("settingKind"), t("settingUpload")], size];
  const { prompt, negativePrompt } = promptsOf(job.params);
  return [
    [t("settingKind"), jobs(`kinds.${shownKind(job)}`)],
    [t("settingPrompt"), prompt],
    [params("negativePrompt"), negativePrompt],
    [t("settingModel"), job.model ?? ""],
    ...facts,
    size,
  ];
}

/** The settings in which two lists differ, in the order of the first. */
function differencesOf(left: readonly Setting[], right: readonly Setting[]) {
  const [before, after] = [new Map(left), new Map(right)];
  const names = [...new Set([...before.keys(), ...after.keys()])];
  return names.flatMap((name) => {
    const [was, is] = [before.get(name) ?? "", after.get(name) ?? ""];
    return was === is ? [] : [{ name, was, is }];
  });
}

interface PairProps {
  readonly left: ImageView;
  readonly right: ImageView;
  readonly names: readonly [left: string, right: string];
}

function Differences({ left, right, names }: PairProps) {
  const t = useTranslations("edit");
  const rows = differencesOf(useSettings(left), useSettings(right));
  if (rows.length === 0) return <p className="text-xs text-quiet">{t("sameSettings")}</p>;
  const cell = "py-1.5 pe-4 text-start align-top";
  return (
    <table aria-label={t("differences")} className="w-full max-w-[840px] table-fixed text-start text-xs">
      <thead className="text-quiet">
        <tr>
          <th scope="col" className={`${cell} w-28 font-normal`}>
            {t("setting")}
          </th>
          {names.map((name) => (
            <th key={name} scope="col" className={`${cell} font-normal`}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody className="divide-y divide-line">
        {rows.map(({ name, was, is }) => (
          <tr key={name}>
            <th scope="row" className={`${cell} font-normal text-quiet`}>
              {name}
            </th>
            <td className={`${cell} break-words`}>{was === "" ? "–" : was}</td>
            <td className={`${cell} break-words`}>{is === "" ? "–" : is}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function SliderPair({ left, right }: PairProps) {
  const t = useTranslations("edit");
  const [box, setBox] = useState<HTMLDivElement | null>(null);
  const size = fitBox(useBoxSize(box), right);
  return (
    <div ref={setBox} className="flex size-full items-center justify-center">
      <div style={size}>
        <CompareSlider
          beforeUrl={imageUrl(left.id, "preview")}
          afterUrl={imageUrl(right.id, "preview")}
          afterAlt={t("pictureAlt")}
          className="checker size-full"
        />
      </div>
    </div>
  );
}

function LinkedPair({ left, right, names }: PairProps) {
  const t = useTranslations("edit");
  const linked = useLinkedView();
  return (
    <div className="flex size-full gap-2 max-wide:flex-col">
      <Pane image={left} linked={linked} alt={t("pictureAlt")} label={names[0]} />
      <Pane image={right} linked={linked} alt={t("pictureAlt")} label={names[1]} />
    </div>
  );
}

function DifferencePair({ left, right }: PairProps) {
  const t = useTranslations("edit");
  return (
    <div className="flex size-full">
      <Pane image={right} linked={useLinkedView()} alt={t("differenceAlt")} differenceTo={left.id} />
    </div>
  );
}

const ways = ["slider", "side", "difference"] as const;
type Way = (typeof ways)[number];

const pairs: Readonly<Record<Way, (props: PairProps) => ReactNode>> = {
  slider: SliderPair,
  side: LinkedPair,
  difference: DifferencePair,
};

interface CompareStageProps {
  readonly image: ImageView;
  readonly baseId: string;
  /** What the two are called in the strip. */
  readonly names: PairProps["names"];
}

/** Compares two versions: by a slider, side by side, or by what is different; and says in which settings they differ. */
export function CompareStage({ image, baseId, names }: CompareStageProps) {
  const t = useTranslations("edit");
  const [way, setWay] = useState<Way>("slider");
  const { data: base } = useImage(baseId);
  const Pair = pairs[way];
  return (
    <section aria-label={t("compare")} className="flex min-h-0 min-w-0 flex-1 flex-col gap-3 p-3 wide:p-4">
      <div className="flex justify-center">
        <Segmented
          label={t("compareWay")}
          value={way}
          onChange={setWay}
          options={ways.map((value) => ({ value, label: t(`compareWays.${value}`) }))}
        />
      </div>
      <div className="min-h-0 flex-1">
        {base === undefined ? null : <Pair left={base} right={image} names={names} />}
      </div>
      <div className="mx-auto max-h-[24dvh] w-full max-w-[840px] overflow-y-auto">
        {base === undefined ? null : <Differences left={base} right={image} names={names} />}
      </div>
    </section>
  );
}
