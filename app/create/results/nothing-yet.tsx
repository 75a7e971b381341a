"use client";
import { useTranslations } from "next-intl";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/display.tsx";
import { createForm } from "../form/form-store.ts";
import { useForm } from "../form/use-form.ts";

const ideas = ["lighthouse", "kitchen", "fox"] as const;

/** Before the first picture: a few words to start from. */
export function NothingYet() {
  const t = useTranslations("create");
  const prompt = useForm().prompt.trim();
  // Own words are never written over.
  const isOwn = prompt !== "" && ideas.every((idea) => t(`ideas.${idea}.prompt`) !== prompt);
  if (isOwn) return null;
  return (
    <EmptyState title={t("emptyTitle")} text={t("emptyText")}>
      {ideas.map((idea) => (
        <Button key={idea} size="small" onClick={() => createForm.set({ prompt: t(`ideas.${idea}.prompt`) })}>
          {t(`ideas.${idea}.name`)}
        </Button>
      ))}
    </EmptyState>
  );
}
