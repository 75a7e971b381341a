"use client";
import { useTranslations } from "next-intl";
import { useLacksText } from "../../data/use-lacks-text.ts";
import type { OfferedWorkflow } from "../../data/use-workflows.ts";
import { Select } from "../../ui/select.tsx";
import { createForm } from "../form/form-store.ts";

interface Props {
  readonly chosen: OfferedWorkflow;
  readonly offered: readonly OfferedWorkflow[];
}

/** Those that can run now come first; the others say what is missing. */
export function WorkflowChoice({ chosen, offered }: Props) {
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
