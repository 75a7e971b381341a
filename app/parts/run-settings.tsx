"use client";
import { Dices, History } from "lucide-react";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import type { OfferedParam, OfferedWorkflow } from "../client/queries.ts";
import { nearestAllowed, randomSeed } from "../client/numbers.ts";
import { IconButton } from "../ui/button.tsx";
import { Segmented } from "../ui/fields.tsx";
import { NumberInput } from "../ui/number-input.tsx";
import { Slider } from "../ui/slider.tsx";

const maxNamed = 2;

/** What a workflow lacks, as text; null when the workflow can run now. */
export function useLacksText(): (workflow: OfferedWorkflow) => string | null {
  const t = useTranslations("workflows");
  return useCallback(
    ({ isLive, missing, vramGib }) => {
      if (isLive) return null;
      if (missing.length === 0) return t("noServer", { gib: vramGib });
      const what = missing.slice(0, maxNamed).join(", ");
      return missing.length > maxNamed
        ? t("lacksMore", { what, count: missing.length - maxNamed })
        : t("lacks", { what });
    },
    [t],
  );
}

interface NumberSettingProps {
  readonly label: string;
  readonly param: OfferedParam;
  readonly value: number;
  readonly onChange: (value: number) => void;
}

/** A number setting with a slider and a text field. */
export function NumberSetting({ label, param, value, onChange }: NumberSettingProps) {
  const { min = 0, max = 100 } = param;
  const fine = max - min > 2 ? 0.1 : 0.05;
  const step = param.multipleOf ?? (param.type === "integer" ? 1 : fine);
  const setAllowed = (next: number) => onChange(nearestAllowed(Number(next.toFixed(2)), param));
  return (
    <div className="flex flex-col gap-0.5">
      <div className="flex items-center justify-between gap-3">
        <span aria-hidden className="text-xs font-medium">
          {label}
        </span>
        <NumberInput
          label={label}
          value={value}
          onChange={setAllowed}
          className="h-7! w-16! px-2! text-end text-xs!"
        />
      </div>
      <Slider label={label} value={value} min={min} max={max} step={step} onChange={setAllowed} />
    </div>
  );
}

const toSeed = (seed: number) => Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.round(seed)));

interface SeedChoiceProps {
  /** Null: random. */
  readonly seed: number | null;
  readonly onChange: (seed: number | null) => void;
  /** Seed of the newest picture; null without one. */
  readonly lastSeed: number | null;
  /** Of the pictures that are made from it. */
  readonly count: number;
}

/** The seed: random for each picture, or fixed. */
export function SeedChoice({ seed, onChange, lastSeed, count }: SeedChoiceProps) {
  const t = useTranslations("seeds");
  return (
    <div className="flex flex-col gap-2">
      <div className="flex items-center justify-between gap-2">
        <span className="text-xs font-medium">{t("title")}</span>
        <Segmented
          label={t("title")}
          value={seed === null ? "random" : "fixed"}
          onChange={(next) => onChange(next === "random" ? null : (lastSeed ?? randomSeed()))}
          options={[
            { value: "random", label: t("random") },
            { value: "fixed", label: t("fixed") },
          ]}
        />
      </div>
      {seed === null ? null : (
        <div className="flex items-center gap-1">
          <NumberInput
            label={t("number")}
            value={seed}
            onChange={(next) => onChange(toSeed(next))}
            className="h-9! min-w-0 text-xs!"
          />
          <IconButton label={t("draw")} onClick={() => onChange(randomSeed())}>
            <Dices aria-hidden />
          </IconButton>
          <IconButton
            label={t("reuse")}
            disabled={lastSeed === null}
            onClick={() => lastSeed !== null && onChange(lastSeed)}
          >
            <History aria-hidden />
          </IconButton>
        </div>
      )}
      {seed !== null && count > 1 ? <p className="text-xs text-quiet">{t("counts")}</p> : null}
    </div>
  );
}
