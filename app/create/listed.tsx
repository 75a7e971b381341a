"use client";
import { useQuery } from "@tanstack/react-query";
import { ChevronsUpDown } from "lucide-react";
import { useTranslations } from "next-intl";
import { useEffect, useState } from "react";
import { api } from "../client/api.ts";
import { draftKeys, readDraft, writeDraft } from "../client/leaving.ts";
import { keys, type OfferedWorkflow } from "../client/queries.ts";
import { cx } from "../ui/button.tsx";
import { useFailureToast } from "../ui/failures.ts";
import { later } from "../ui/later.tsx";
import { Dialog } from "../ui/overlays.tsx";
import { Select, selectStyle } from "../ui/select.tsx";
import { createForm, useForm } from "./form.ts";
import type { ListPickerProps } from "./list-picker.tsx";

/** A server that comes, or is given its first LoRA, while the page is open. */
const askedAgainMs = 15_000;

/** What connected servers list for a workflow; undefined until loaded. Null asks for none. */
export function useListed(workflow: string | null) {
  const { data } = useQuery({
    queryKey: keys.listed(workflow ?? ""),
    queryFn: () => api.workflows.listed.query({ workflow: workflow ?? "" }),
    enabled: workflow !== null,
    staleTime: 60_000,
    refetchInterval: ({ state }) =>
      Object.values(state.data ?? {}).some((names) => names.length === 0) && askedAgainMs,
  });
  return data;
}

/** Without folder and ending, which are the same for most. */
export function shownName(name: string): string {
  return name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf("\\")) + 1).replace(/\.\w+$/, "");
}

const ListPicker = later(async () => (await import("./list-picker.tsx")).ListPicker);

interface ListDialogProps extends ListPickerProps {
  readonly isOpen: boolean;
  readonly setOpen: (isOpen: boolean) => void;
  readonly title: string;
}

/** Chooses one of the files that servers list. */
export function ListDialog({ isOpen, setOpen, title, onPick, ...props }: ListDialogProps) {
  const showFailure = useFailureToast();
  const pick = (name: string) => {
    onPick(name);
    setOpen(false);
  };
  const onFailure = (error: unknown) => {
    setOpen(false);
    showFailure(error);
  };
  return (
    <Dialog open={isOpen} onOpenChange={setOpen} title={title}>
      <ListPicker isWanted onFailure={onFailure} props={{ ...props, onPick: pick }} />
    </Dialog>
  );
}

const mostRecent = 12;

function recentCheckpoints(): readonly string[] {
  return (readDraft(draftKeys.checkpoints) ?? "").split("\n").filter((name) => name !== "");
}

/** Those that were chosen last come first. */
function byUse(known: readonly string[]): readonly string[] {
  const recent = recentCheckpoints().filter((name) => known.includes(name));
  return [...recent, ...known.filter((name) => !recent.includes(name))];
}

function choose(workflow: string, checkpoint: string): void {
  const others = recentCheckpoints().filter((name) => name !== checkpoint);
  writeDraft(draftKeys.checkpoints, [checkpoint, ...others].slice(0, mostRecent).join("\n"));
  createForm.setFor(workflow, { checkpoint });
}

/** Chooses for the workflow what was chosen last, where nothing is. */
function useFirstChoice({ name, params }: OfferedWorkflow, known: readonly string[] | undefined): void {
  const chosen = useForm().settings[name]?.checkpoint;
  const isUnchosen = params.checkpoint?.required === true && chosen === undefined;
  useEffect(() => {
    const [first] = isUnchosen ? byUse(known ?? []) : [];
    if (first !== undefined) createForm.setFor(name, { checkpoint: first });
  }, [isUnchosen, known, name]);
}

/** The checkpoint of the next pictures, at first the one that was chosen last; empty where the workflow takes none. */
export function CheckpointChoice({ workflow }: { readonly workflow: OfferedWorkflow }) {
  const { name, params } = workflow;
  const takes = params.checkpoint !== undefined;
  const known = useListed(takes ? name : null)?.checkpoint;
  useFirstChoice(workflow, known);
  return takes && known !== undefined ? <CheckpointField workflow={name} known={known} /> : null;
}

interface CheckpointFieldProps {
  readonly workflow: string;
  readonly known: readonly string[];
}

function CheckpointField({ workflow, known }: CheckpointFieldProps) {
  const t = useTranslations("create.listed");
  const [isOpen, setOpen] = useState(false);
  const chosen = useForm().settings[workflow]?.checkpoint;
  const isAway = chosen !== undefined && !known.includes(chosen);
  return (
    <div className="flex flex-col gap-1.5">
      <span className="text-xs font-medium">{t("checkpoint")}</span>
      <button
        type="button"
        aria-label={`${t("checkpoint")}: ${chosen ?? t("choose")}`}
        title={chosen}
        onClick={() => setOpen(true)}
        className={cx(selectStyle, "min-w-0 text-start")}
      >
        <span className="truncate">{chosen === undefined ? t("choose") : shownName(chosen)}</span>
        <ChevronsUpDown className="size-4 shrink-0 text-quiet" aria-hidden />
      </button>
      {isAway ? <p className="text-xs text-quiet">{t("away")}</p> : null}
      <ListDialog
        isOpen={isOpen}
        setOpen={setOpen}
        title={t("choose")}
        none={t("none")}
        known={isOpen ? byUse(known) : known}
        chosen={chosen}
        onPick={(checkpoint) => choose(workflow, checkpoint)}
      />
    </div>
  );
}

/** Sampler and scheduler, as far as the workflow takes them; without a choice it keeps its own. */
export function SamplerChoices({ workflow: { name, params } }: { readonly workflow: OfferedWorkflow }) {
  const t = useTranslations("create.listed");
  const settings = useForm().settings[name];
  const taken = (["sampler", "scheduler"] as const).filter((setting) => params[setting] !== undefined);
  const known = useListed(taken.length === 0 ? null : name);
  return taken.map((setting) => {
    const chosen = settings?.[setting];
    const names = known?.[setting] ?? [];
    if (names.length === 0 && chosen === undefined) return null;
    const usual = t("usual", { name: String(params[setting]?.default ?? "") });
    const all = chosen === undefined || names.includes(chosen) ? names : [chosen, ...names];
    return (
      <Select
        key={setting}
        label={t(setting)}
        value={chosen ?? ""}
        onChange={(next) => createForm.setFor(name, { [setting]: next === "" ? undefined : next })}
        options={[{ value: "", title: usual }, ...all.map((value) => ({ value, title: value }))]}
      />
    );
  });
}
