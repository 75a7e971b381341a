"use client";
import { Ban } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { Button, buttonStyle } from "../ui/button.tsx";
import { Progress } from "../ui/progress.tsx";
import { useBatch, useBatchActions } from "./batch.ts";
import { useBatchTexts } from "../jobs/batch-texts.ts";

/** The batch that a page has started: how far it is, what it may cost, and the way to its own page. */
export function BatchStrip({ id }: { readonly id: string }) {
  const t = useTranslations("batches");
  const { state, price } = useBatchTexts();
  const { batch } = useBatch(id);
  const { cancel } = useBatchActions(id);
  if (batch === undefined) return null;
  const isOpen = batch.status === "open";
  return (
    <div className="mb-6 flex flex-wrap items-center gap-x-4 gap-y-2 rounded-card border border-line bg-well px-4 py-2.5">
      <p role="status" className="tabular min-w-0 flex-1 text-xs text-quiet max-sm:basis-full">
        {`${state(batch)} · ${price(batch)}`}
      </p>
      {isOpen ? (
        <Progress
          value={batch.progress}
          label={t("progress")}
          className="flex-1 max-sm:order-last max-sm:basis-full"
        />
      ) : null}
      <span className="flex gap-1">
        {isOpen ? (
          <Button look="quiet" size="small" disabled={cancel.isPending} onClick={() => cancel.mutate()}>
            <Ban aria-hidden />
            {t("cancel")}
          </Button>
        ) : null}
        <Link href={`/batches/${id}`} className={buttonStyle("plain", "small")}>
          {t("openBatch")}
        </Link>
      </span>
    </div>
  );
}
