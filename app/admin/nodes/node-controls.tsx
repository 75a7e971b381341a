"use client";
import { CirclePause, CirclePlay, LogOut, SlidersHorizontal } from "lucide-react";
import { useTranslations } from "next-intl";
import { type SyntheticEvent, useState } from "react";
import type { JobKind } from "@atelier/server/engines";
import type { NodeFigures } from "@atelier/server/monitoring";
import { api } from "../../client/api.ts";
import { jobKindOrder as allKinds } from "../../client/kinds.ts";
import { Button } from "../../ui/button.tsx";
import { Chip } from "../../ui/display.tsx";
import { Field } from "../../ui/fields.tsx";
import { toastDone } from "../../ui/toasts.tsx";
import { ConfirmButton, useAdminAction } from "../controls.tsx";

interface Wanted {
  readonly slots: Record<string, number>;
  readonly kinds?: JobKind[];
}

/** Settings to store for a node; with every kind chosen, `kinds` is left out: the node then takes all kinds. */
export function wantedSettings(slots: Record<string, number>, kinds: readonly JobKind[]): Wanted {
  const isNarrowed = allKinds.some((kind) => !kinds.includes(kind));
  return { slots, ...(isNarrowed ? { kinds: [...kinds] } : {}) };
}

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

/** Slots by queue and the kinds that a node takes; an empty field keeps the node's own value. */
function NodeSettingsForm({ node: { id, name, queues, settings }, onClose }: Props) {
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

/** No confirmation: "Resume" undoes a drain at once. Retire needs one, because it ends the process. */
function DrainOrResume({ node: { id, name, state } }: { readonly node: NodeFigures }) {
  const t = useTranslations("admin.nodes");
  const drain = useAdminAction(() => api.admin.nodes.drain.mutate({ id }));
  const resume = useAdminAction(() => api.admin.nodes.resume.mutate({ id }));
  const isBusy = drain.isPending || resume.isPending;
  return state === "active" ? (
    <Button
      size="small"
      aria-label={t("drainNamed", { name })}
      disabled={isBusy}
      onClick={() => drain.mutate()}
    >
      <CirclePause aria-hidden />
      {t("drain")}
    </Button>
  ) : (
    <Button
      size="small"
      aria-label={t("resumeNamed", { name })}
      disabled={isBusy}
      onClick={() => resume.mutate()}
    >
      <CirclePlay aria-hidden />
      {t("resume")}
    </Button>
  );
}

/** The actions of an admin on a node; each is idempotent. */
export function NodeActions({ node }: { readonly node: NodeFigures }) {
  const t = useTranslations("admin.nodes");
  const [isOpen, setIsOpen] = useState(false);
  const { id, name } = node;
  const retire = useAdminAction(() => api.admin.nodes.retire.mutate({ id }));
  if (node.retireRequested) return <p className="text-xs text-quiet">{t("retiring")}</p>;
  const canResume = node.state === "active" || node.drainRequested;
  return (
    <div className="flex max-w-full flex-col gap-3 max-sm:w-full sm:ms-auto sm:items-end">
      <div className="flex flex-wrap items-center gap-2">
        {canResume ? <DrainOrResume node={node} /> : null}
        <Button
          size="small"
          aria-expanded={isOpen}
          aria-label={t("settingsNamed", { name })}
          onClick={() => setIsOpen(!isOpen)}
        >
          <SlidersHorizontal aria-hidden />
          {t("settings")}
        </Button>
        <ConfirmButton
          label={t("retireNamed", { name })}
          question={t("retireAsk")}
          confirm={t("retireYes")}
          isPending={retire.isPending}
          onConfirm={() => retire.mutate()}
        >
          <LogOut aria-hidden />
          {t("retire")}
        </ConfirmButton>
      </div>
      {isOpen ? <NodeSettingsForm node={node} onClose={() => setIsOpen(false)} /> : null}
    </div>
  );
}
