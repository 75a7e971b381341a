"use client";
import { Dices, History, SlidersHorizontal } from "lucide-react";
import { useTranslations } from "next-intl";
import { useCallback, useState } from "react";
import type { OfferedParam, OfferedWorkflow } from "../client/queries.ts";
import { OwnOnlyChoice } from "../parts/own-only.tsx";
import { cx, IconButton } from "../ui/button.tsx";
import { Segmented } from "../ui/fields.tsx";
import { NumberInput } from "../ui/number-input.tsx";
import { Slider } from "../ui/slider.tsx";
import { Select } from "../ui/select.tsx";
import { createForm, maxPictures, useForm } from "./form.ts";
import { resolveSetting, chosenSize, nearestAllowed, randomSeed } from "./requests.ts";
import { LoraChoice } from "./loras.tsx";
import { SizeChoice } from "./size-choice.tsx";

const maxNamed = 2;

/** What a workflow lacks, as text; null when the workflow can run now. */
function useLacksText(): (workflow: OfferedWorkflow) => string | null {
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
function NumberSetting({ label, param, value, onChange }: NumberSettingProps) {
  const step = param.multipleOf ?? (param.type === "integer" ? 1 : 0.1);
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
      <Slider
        label={label}
        value={value}
        min={param.min ?? 0}
        max={param.max ?? 100}
        step={step}
        onChange={setAllowed}
      />
    </div>
  );
}

const toSeed = (seed: number) => Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.round(seed)));

interface SeedChoiceProps {
  /** Seed of the newest picture; null without one. */
  readonly lastSeed: number | null;
}

/** The seed: random for each picture, or fixed. */
function SeedChoice({ lastSeed }: SeedChoiceProps) {
  const t = useTranslations("create");
  const { seed, count } = useForm();
  return (
    <div className="flex flex-col gap-2">
      <div className="flex items-center justify-between gap-2">
        <span className="text-xs font-medium">{t("seed")}</span>
        <Segmented
          label={t("seed")}
          value={seed === null ? "random" : "fixed"}
          onChange={(next) => createForm.set({ seed: next === "random" ? null : (lastSeed ?? randomSeed()) })}
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
            onChange={(next) => createForm.set({ seed: toSeed(next) })}
            className="h-9! min-w-0 text-xs!"
          />
          <IconButton label={t("seedDraw")} onClick={() => createForm.set({ seed: randomSeed() })}>
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

interface WorkflowChoiceProps {
  readonly chosen: OfferedWorkflow;
  readonly offered: readonly OfferedWorkflow[];
}

/** The select of workflows. Those that cannot run now show what is missing. */
function WorkflowChoice({ chosen, offered }: WorkflowChoiceProps) {
  const t = useTranslations("create");
  const lacksText = useLacksText();
  return (
    <div className="flex flex-col gap-1.5">
      <Select
        label={t("workflow")}
        value={chosen.name}
        onChange={(workflow) => createForm.set({ workflow })}
        options={offered.map((workflow) => ({
          value: workflow.name,
          title: workflow.title,
          description: workflow.description,
          warning: lacksText(workflow),
        }))}
      />
      <p className="text-xs text-quiet">{chosen.description}</p>
    </div>
  );
}

interface SettingsPanelProps {
  readonly chosen: OfferedWorkflow;
  readonly offered: readonly OfferedWorkflow[];
  readonly lastSeed: number | null;
}

const countParam = { type: "integer", min: 1, max: maxPictures } as const;

/** Steps and guidance, as far as the workflow takes them. */
function StepsAndGuidance({ chosen }: Pick<SettingsPanelProps, "chosen">) {
  const t = useTranslations("create");
  const overrides = useForm().settings[chosen.name];
  return (["steps", "guidance"] as const).map((name) => {
    const param = chosen.params[name];
    const value = resolveSetting(param, overrides?.[name]);
    if (param === undefined || value === undefined) return null;
    return (
      <NumberSetting
        key={name}
        label={t(name)}
        param={param}
        value={value}
        onChange={(next) => createForm.setFor(chosen.name, { [name]: next })}
      />
    );
  });
}

/** All settings besides the prompt; collapsible on a phone. */
export function SettingsPanel({ chosen, offered, lastSeed }: SettingsPanelProps) {
  const t = useTranslations("create");
  const form = useForm();
  const [isOpen, setOpen] = useState(false);
  const size = chosenSize(form, chosen);
  return (
    <aside aria-label={t("settings")} className="min-w-0">
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setOpen((open) => !open)}
        className="flex h-11 w-full items-center gap-2.5 rounded-control border border-line bg-surface px-3 text-xs wide:hidden"
      >
        <SlidersHorizontal className="size-4 shrink-0 text-quiet" aria-hidden />
        <span className="sr-only">{t("settings")}</span>
        <span className="tabular min-w-0 truncate">
          {chosen.title}
          <span className="text-quiet">
            {size === null ? null : ` · ${size.width} × ${size.height}`}
            {form.mode === "one" ? ` · ${t("count", { count: form.count })}` : null}
          </span>
        </span>
      </button>
      <div className={cx("flex flex-col gap-6 max-wide:pt-5 wide:flex", isOpen ? "" : "max-wide:hidden")}>
        <WorkflowChoice chosen={chosen} offered={offered} />
        <OwnOnlyChoice />
        <SizeChoice workflow={chosen} />
        {form.mode === "grid" ? null : (
          <NumberSetting
            label={t(form.mode === "list" ? "picturesEach" : "pictures")}
            param={countParam}
            value={form.count}
            onChange={(count) => createForm.set({ count })}
          />
        )}
        <StepsAndGuidance chosen={chosen} />
        <LoraChoice workflow={chosen} />
        {chosen.params.seed === undefined ? null : <SeedChoice lastSeed={lastSeed} />}
      </div>
    </aside>
  );
}
