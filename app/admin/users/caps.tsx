"use client";
import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { api } from "../../client/api.ts";
import { nearCaps } from "../../client/cloud.ts";
import { CapNote } from "../../parts/own-only.tsx";
import { Button } from "../../ui/button.tsx";
import { Facts } from "../../ui/facts.tsx";
import { Field } from "../../ui/fields.tsx";
import { useDollars } from "../../ui/hooks.ts";
import { toastDone } from "../../ui/toasts.tsx";
import { useAdminAction } from "../controls.tsx";
import { LiveData, useLiveQuery } from "../live.tsx";
import { Panel } from "../parts.tsx";

type Caps = Awaited<ReturnType<typeof api.admin.cloud.caps.query>>;

const textOf = (usd: number | null) => (usd === null ? "" : String(usd));
const usdOf = (text: string) => (text.trim() === "" ? null : Number(text));

interface FormProps {
  readonly userId: string;
  readonly own: Caps["own"];
}

/** The user's own limits; an empty field takes the studio's. */
function CapsForm({ userId, own }: FormProps) {
  const t = useTranslations("admin.users");
  const [daily, setDaily] = useState(textOf(own.dailyUsd));
  const [monthly, setMonthly] = useState(textOf(own.monthlyUsd));
  const save = useAdminAction(async () => {
    const caps = { dailyUsd: usdOf(daily), monthlyUsd: usdOf(monthly) };
    await api.admin.cloud.setCaps.mutate({ id: userId, ...caps });
    toastDone(t("capsSaved"));
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  const field = { type: "number", min: 0, step: "any", hint: t("capHint") } as const;
  return (
    <form onSubmit={submit} className="mt-4 flex max-w-sm flex-wrap items-end gap-2">
      <div className="min-w-28 flex-1">
        <Field {...field} name="daily" label={t("capDaily")} value={daily} onValueChange={setDaily} />
      </div>
      <div className="min-w-28 flex-1">
        <Field {...field} name="monthly" label={t("capMonthly")} value={monthly} onValueChange={setMonthly} />
      </div>
      <Button type="submit" className="mb-6 h-10 pointer-coarse:h-11" disabled={save.isPending}>
        {t("capsSave")}
      </Button>
    </form>
  );
}

/** What a user spent on cloud models, and the limits; with a warning from 80 % on. */
export function CapsPanel({ userId }: { readonly userId: string }) {
  const t = useTranslations("admin.users");
  const cloud = useTranslations("cloud");
  const dollars = useDollars();
  const query = useLiveQuery(["users", "caps", userId], () => api.admin.cloud.caps.query({ id: userId }));
  const of = (spentUsd: number, capUsd: number | null) => {
    const spent = dollars(spentUsd);
    return capUsd === null ? cloud("noCap", { spent }) : cloud("ofCap", { spent, cap: dollars(capUsd) });
  };
  return (
    <Panel title={t("capsTitle")}>
      <LiveData query={query}>
        {({ own, ...sums }) => (
          <>
            {nearCaps(sums).map((cap) => (
              <CapNote key={cap.period} cap={cap} />
            ))}
            {own.isUninvited ? <p className="text-sm text-warn">{t("capUninvited")}</p> : null}
            <Facts
              rows={[
                [cloud("spentDay"), of(sums.dayUsd, sums.dailyUsd)],
                [cloud("spentMonth"), of(sums.monthUsd, sums.monthlyUsd)],
              ]}
            />
            <CapsForm key={`${own.dailyUsd} ${own.monthlyUsd}`} userId={userId} own={own} />
          </>
        )}
      </LiveData>
    </Panel>
  );
}
