"use client";
import type { JobKind } from "@atelier/server/engines";
import type { NodeFigures } from "@atelier/server/monitoring";
import { useTranslations } from "next-intl";
import { type SyntheticEvent, useState } from "react";
import { api } from "../../client/api.ts";
import { Button } from "../../ui/button.tsx";
import { Chip } from "../../ui/chip.tsx";
import { Field } from "../../ui/field.tsx";
import { toastDone } from "../../ui/toasts.ts";
import { jobKindOrder as allKinds } from "../../jobs/job-kinds.ts";
import { useAdminAction } from "../parts/use-admin-action.ts";
import { wantedSettings } from "./wanted-settings.ts";

interface Props {
  readonly node: NodeFigures;
  readonly onClose: () => void;
}

function readSlots(form: HTMLFormElement, queues: readonly string[]): Record<string, number> {
  const data = new FormData(form);
  return Object.fromEntries(
    queues.flatMap((queue) => {
      const text = data.get(`slots-${queue}`);
      return typeof text === "string" && text.trim() !== "" ? [[queue, Number(text)]] : [];
    }),
  );
}

function KindChoice({
  chosen,
  onChange,
}: {
  readonly chosen: readonly JobKind[];
  readonly onChange: (kinds: readonly JobKind[]) => void;
}) {
  const t = useTranslations("admin.nodes");
  const jobs = useTranslations("jobs");
  const toggle = (kind: JobKind) =>
    onChange(chosen.includes(kind) ? chosen.filter((other) => other !== kind) : [...chosen, kind]);
  return (
    <div role="group" aria-label={t("kinds")}>
      <p className="mb-1.5 text-xs font-medium">{t("kinds")}</p>
      <div className="flex flex-wrap gap-1.5">
        {allKinds.map((kind) => (
          <Chip key={kind} pressed={chosen.includes(kind)} onPress={() => toggle(kind)}>
            {jobs(`kinds.${kind}`)}
          </Chip>
        ))}
      </div>
    </div>
  );
}

/** Slots by queue and the kinds that a node takes; what is left alone stays the node's own choice. */
export function NodeSettingsForm({ node: { id, name, queues, settings }, onClose }: Props) {
  const t = useTranslations("admin.nodes");
  const [kinds, setKinds] = useState<readonly JobKind[]>(settings.kinds ?? allKinds);
  const names = queues.map(({ queue }) => queue);
  const save = useAdminAction(async (slots: Record<string, number>) => {
    await api.admin.nodes.changeSettings.mutate({ id, settings: wantedSettings(slots, kinds) });
    toastDone(t("saved"));
    onClose();
  });
  const submit = (event: SyntheticEvent<HTMLFormElement>) => {
    event.preventDefault();
    save.mutate(readSlots(event.currentTarget, names));
  };
  return (
    <form
      aria-label={t("settingsNamed", { name })}
      onSubmit={submit}
      className="flex w-full flex-col gap-4 rounded-card border border-line bg-paper p-4 sm:w-96"
    >
      {queues.map(({ queue, slots }) => (
        <Field
          key={queue}
          name={`slots-${queue}`}
          label={t("slotsOf", { queue })}
          hint={t("slotsHint")}
          type="number"
          min={0}
          max={64}
          placeholder={String(slots)}
          defaultValue={settings.slots?.[queue]}
        />
      ))}
      <KindChoice chosen={kinds} onChange={setKinds} />
      <div className="flex gap-2">
        <Button type="submit" size="small" disabled={save.isPending || kinds.length === 0}>
          {t("save")}
        </Button>
        <Button look="quiet" size="small" onClick={onClose}>
          {t("cancel")}
        </Button>
      </div>
    </form>
  );
}
