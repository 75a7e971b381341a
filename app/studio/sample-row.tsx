"use client";
import { useTranslations } from "next-intl";
import { useFailureToast } from "../data/use-failure-toast.ts";
import { readSample, type Sample, samples } from "./samples.ts";
import type { Slot } from "./studio-store.ts";

interface Props {
  readonly slot: Slot;
  readonly onFile: (file: File) => void;
}

export function SampleRow({ slot, onFile }: Props) {
  const t = useTranslations("studio");
  const showFailure = useFailureToast();
  const take = (sample: Sample) => void readSample(sample).then(onFile, showFailure);
  return (
    <div className="flex w-full flex-col items-center gap-2">
      <p className="text-xs text-quiet">{t("trySample")}</p>
      <ul className="flex w-full justify-center gap-2">
        {samples[slot].map((sample) => (
          <li key={sample.key} className="max-w-14 min-w-0 flex-1">
            <button
              type="button"
              aria-label={t("useSample", { name: t(`samples.${sample.key}`) })}
              onClick={() => take(sample)}
              className="block aspect-square w-full overflow-hidden rounded-control ring-1 ring-line transition duration-150 hover:ring-2 hover:ring-ink"
            >
              <img src={`/samples/${sample.file}`} alt="" className="size-full object-cover" />
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
