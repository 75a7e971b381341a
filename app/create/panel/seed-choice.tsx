"use client";
import { Dices, History } from "lucide-react";
import { useTranslations } from "next-intl";
import { IconButton } from "../../ui/icon-button.tsx";
import { NumberInput } from "../../ui/fields.tsx";
import { Segmented } from "../../ui/segmented.tsx";
import { createForm } from "../form/form-store.ts";
import { useForm } from "../form/use-form.ts";

/** Short enough to read out; the range goes further. */
const largestDrawn = 1_000_000_000;

const draw = () => Math.floor(Math.random() * largestDrawn);
const bounded = (seed: number) => Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.round(seed)));

interface Props {
  /** Of the picture made last. */
  readonly lastSeed: number | null;
}

/** Another picture each time, or the same again. */
export function SeedChoice({ lastSeed }: Props) {
  const t = useTranslations("create");
  const { seed, count } = useForm();
  return (
    <div className="flex flex-col gap-2">
      <div className="flex items-center justify-between gap-2">
        <span className="text-xs font-medium">{t("seed")}</span>
        <Segmented
          label={t("seed")}
          value={seed === null ? "random" : "fixed"}
          onChange={(next) => createForm.set({ seed: next === "random" ? null : (lastSeed ?? draw()) })}
          options={[
            { value: "random", label: t("seedRandom") },
            { value: "fixed", label: t("seedFixed") },
          ]}
        />
      </div>
      {seed === null ? null : (
        <div className="flex items-center gap-1">
          <NumberInput
            label={t("seedNumber")}
            value={seed}
            onChange={(next) => createForm.set({ seed: bounded(next) })}
            className="h-9! min-w-0 text-xs!"
          />
          <IconButton label={t("seedDraw")} onClick={() => createForm.set({ seed: draw() })}>
            <Dices aria-hidden />
          </IconButton>
          <IconButton
            label={t("seedReuse")}
            disabled={lastSeed === null}
            onClick={() => lastSeed !== null && createForm.set({ seed: lastSeed })}
          >
            <History aria-hidden />
          </IconButton>
        </div>
      )}
      {seed !== null && count > 1 ? <p className="text-xs text-quiet">{t("seedCounts")}</p> : null}
    </div>
  );
}
