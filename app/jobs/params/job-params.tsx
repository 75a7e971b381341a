"use client";
import type { JobView } from "@atelier/server/jobs";
import { Copy } from "lucide-react";
import { useTranslations } from "next-intl";
import { useCopy } from "../../data/use-copy.ts";
import { Button } from "../../ui/button.tsx";
import { Facts } from "../../ui/facts.tsx";
import { useWorkflowTitle } from "../use-workflow-title.ts";
import { paramRows, wordsOf } from "../text.ts";

function useRows(job: JobView): readonly (readonly [string, string])[] {
  const t = useTranslations("params");
  const categories = useTranslations("studio.categories");
  const titleOf = useWorkflowTitle();
  const rows = paramRows(job.params).map(({ name, value }) => {
    const key = value as "auto";
    const text = name === "category" && categories.has(key) ? categories(key) : value;
    return [t(name), text] as const;
  });
  return job.workflow === null ? rows : [[t("workflow"), titleOf(job.workflow)], ...rows];
}

/** What a picture was made from: its words and settings, to read and to copy. */
export function JobParams({ job }: { readonly job: JobView }) {
  const t = useTranslations("params");
  const copy = useCopy();
  const rows = useRows(job);
  const { prompt, negativePrompt } = wordsOf(job.params);
  if (rows.length === 0 && prompt === "") return null;
  const words = [prompt, negativePrompt === "" ? "" : `${t("negativePrompt")}: ${negativePrompt}`];
  const text = [...words, ...rows.map(([name, value]) => `${name}: ${value}`)].filter((line) => line !== "");
  return (
    <section aria-labelledby="job-params" className="mt-6 flex flex-col gap-3">
      <div className="flex h-8 items-center justify-between gap-2">
        <h2 id="job-params" className="text-xs font-medium">
          {t("title")}
        </h2>
        <Button look="quiet" size="small" className="-mr-2.5" onClick={() => copy(text.join("\n"))}>
          <Copy aria-hidden />
          {t("copy")}
        </Button>
      </div>
      {words[0] ? <p className="text-sm break-words whitespace-pre-wrap">{words[0]}</p> : null}
      {words[1] ? <p className="text-xs break-words whitespace-pre-wrap text-quiet">{words[1]}</p> : null}
      <Facts rows={rows} />
    </section>
  );
}
