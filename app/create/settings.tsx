"use client";
import { SlidersHorizontal } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { OfferedWorkflow } from "../client/queries.ts";
import { OwnOnlyChoice } from "../parts/own-only.tsx";
import { NumberSetting, SeedChoice, useLacksText } from "../parts/run-settings.tsx";
import { cx } from "../ui/button.tsx";
import { Select } from "../ui/select.tsx";
import { createForm, maxPictures, useForm } from "./form.ts";
import { resolveSetting } from "../client/numbers.ts";
import { chosenSize } from "./requests.ts";
import { CheckpointChoice, SamplerChoices } from "./listed.tsx";
import { LoraChoice } from "./loras.tsx";
import { SizeChoice } from "./size-choice.tsx";

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
        <CheckpointChoice workflow={chosen} />
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
        <SamplerChoices workflow={chosen} />
        <LoraChoice workflow={chosen} />
        {chosen.params.seed === undefined ? null : (
          <SeedChoice
            seed={form.seed}
            onChange={(seed) => createForm.set({ seed })}
            lastSeed={lastSeed}
            count={form.count}
          />
        )}
      </div>
    </aside>
  );
}
