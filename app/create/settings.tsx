"use client";
import { SlidersHorizontal } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { OfferedWorkflow } from "../data/use-workflows.ts";
import { cx } from "../ui/cx.ts";
import { mostPictures } from "./form/create-form.ts";
import { createForm } from "./form/form-store.ts";
import { sizeOf } from "./form/size-of.ts";
import { useForm } from "./form/use-form.ts";
import { settingOf } from "./form/within.ts";
import { NumberSetting } from "./panel/number-setting.tsx";
import { SeedChoice } from "./panel/seed-choice.tsx";
import { SizeChoice } from "./size-choice.tsx";
import { WorkflowChoice } from "./panel/workflow-choice.tsx";

interface Props {
  readonly chosen: OfferedWorkflow;
  readonly offered: readonly OfferedWorkflow[];
  readonly lastSeed: number | null;
}

const countParam = { type: "integer", min: 1, max: mostPictures } as const;

function DrawingSettings({ chosen }: Pick<Props, "chosen">) {
  const t = useTranslations("create");
  const own = useForm().settings[chosen.name];
  return (["steps", "guidance"] as const).map((name) => {
    const param = chosen.params[name];
    const value = settingOf(param, own?.[name]);
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

/** Everything besides the words; on a phone it folds away. */
export function SettingsPanel({ chosen, offered, lastSeed }: Props) {
  const t = useTranslations("create");
  const form = useForm();
  const [isOpen, setOpen] = useState(false);
  const size = sizeOf(form, chosen);
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
            {` · ${t("count", { count: form.count })}`}
          </span>
        </span>
      </button>
      <div className={cx("flex flex-col gap-6 max-wide:pt-5 wide:flex", isOpen ? "" : "max-wide:hidden")}>
        <WorkflowChoice chosen={chosen} offered={offered} />
        <SizeChoice workflow={chosen} />
        <NumberSetting
          label={t("pictures")}
          param={countParam}
          value={form.count}
          onChange={(count) => createForm.set({ count })}
        />
        <DrawingSettings chosen={chosen} />
        {chosen.params.seed === undefined ? null : <SeedChoice lastSeed={lastSeed} />}
      </div>
    </aside>
  );
}
