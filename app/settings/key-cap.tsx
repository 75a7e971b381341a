"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useFormatter, useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { api } from "../client/api.ts";
import { isCapReached } from "../client/cloud.ts";
import { useFailureToast } from "../ui/failures.ts";
import { keys } from "../client/queries.ts";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/fields.tsx";
import { useDollars } from "../ui/hooks.ts";
import { Dialog } from "../ui/overlays.tsx";
import { Select } from "../ui/select.tsx";

export type ApiKey = Awaited<ReturnType<typeof api.apiKeys.list.query>>["items"][number];
type Cap = NonNullable<ApiKey["cap"]>;

const periods = ["day", "week", "month", "never"] as const satisfies readonly Cap["period"][];

/** A cap as it is typed. */
export interface CapText {
  readonly usd: string;
  readonly period: Cap["period"];
}

export const noCap: CapText = { usd: "", period: "month" };

export const capOf = ({ usd, period }: CapText): Cap | null =>
  usd.trim() === "" ? null : { usd: Number(usd), period };

interface CapFieldsProps {
  readonly cap: CapText;
  readonly onChange: (cap: CapText) => void;
}

/** What a key may spend, and when that counts from 0 again. */
export function CapFields({ cap, onChange }: CapFieldsProps) {
  const t = useTranslations("apiKeys");
  return (
    <>
      <Field
        name="key-cap"
        label={t("cap")}
        hint={t("capHint")}
        type="number"
        inputMode="decimal"
        min={0}
        max={1_000_000}
        step="any"
        autoComplete="off"
        value={cap.usd}
        onValueChange={(usd) => onChange({ ...cap, usd })}
      />
      <Select
        label={t("capPeriod")}
        value={cap.period}
        onChange={(value) => onChange({ ...cap, period: periods.find((one) => one === value) ?? "month" })}
        options={periods.map((value) => ({ value, title: t(`capPeriods.${value}`) }))}
      />
    </>
  );
}

/** What a key spent of its cap, and the button that changes the cap. */
export function KeySpend({ apiKey }: { readonly apiKey: ApiKey }) {
  const t = useTranslations("apiKeys");
  const dollars = useDollars();
  const format = useFormatter();
  const [isOpen, setOpen] = useState(false);
  const { cap, spentUsd, reservedUsd, resetsAt, name } = apiKey;
  const isReached = cap !== null && isCapReached(spentUsd + reservedUsd, cap.usd);
  const spent = dollars(spentUsd);
  const day = resetsAt && format.dateTime(new Date(resetsAt), { dateStyle: "medium", timeZone: "UTC" });
  const parts = [
    ...(cap ? [t(`capOf.${cap.period}`, { spent, cap: dollars(cap.usd) })] : []),
    ...(cap === null && spentUsd > 0 ? [t("spent", { spent })] : []),
    ...(reservedUsd > 0 ? [t("reserved", { reserved: dollars(reservedUsd) })] : []),
    ...(isReached ? [t("capReached")] : []),
    ...(day ? [t("capResets", { day })] : []),
  ];
  return (
    <div className="tabular text-xs text-quiet">
      <span className={isReached ? "text-warn" : undefined}>{parts.join(" · ")}</span>
      {parts.length > 0 ? " · " : null}
      <button
        type="button"
        className="touch underline underline-offset-4"
        aria-label={t("capChangeNamed", { name })}
        onClick={() => setOpen(true)}
      >
        {t("capChange")}
      </button>
      <CapDialog apiKey={apiKey} isOpen={isOpen} onOpenChange={setOpen} />
    </div>
  );
}

interface CapDialogProps {
  readonly apiKey: ApiKey;
  readonly isOpen: boolean;
  readonly onOpenChange: (isOpen: boolean) => void;
}

function CapDialog({ apiKey: { id, name, cap: held }, isOpen, onOpenChange }: CapDialogProps) {
  const t = useTranslations("apiKeys");
  const queries = useQueryClient();
  const onError = useFailureToast();
  const [cap, setCap] = useState<CapText>(held ? { ...held, usd: String(held.usd) } : noCap);
  const save = useMutation({
    mutationFn: () => api.apiKeys.setCap.mutate({ id, cap: capOf(cap) }),
    onSuccess: () => {
      onOpenChange(false);
      return queries.invalidateQueries({ queryKey: keys.apiKeys });
    },
    onError,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <Dialog open={isOpen} onOpenChange={onOpenChange} title={t("capTitle", { name })}>
      <form onSubmit={submit} className="flex flex-col gap-4">
        <p className="text-sm text-quiet">{t("capText")}</p>
        <CapFields cap={cap} onChange={setCap} />
        <Button type="submit" className="h-10 self-start pointer-coarse:h-11" disabled={save.isPending}>
          {t("capSave")}
        </Button>
      </form>
    </Dialog>
  );
}
