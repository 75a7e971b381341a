"use client";
import { Bookmark, Ellipsis, FileUp, History, ImagePlus, ListPlus, Palette } from "lucide-react";
import { useTranslations } from "next-intl";
import { useRef, useState } from "react";
import type { BatchEstimate } from "@atelier/server/batches";
import { BatchEstimateLine } from "../batches/estimate-line.tsx";
import type { OfferedWorkflow } from "../client/queries.ts";
import type { Estimate } from "../client/submit/job.ts";
import { RunButton } from "../parts/run-button.tsx";
import { OfferLine, Warning } from "../jobs/offer-line.tsx";
import { IconButton } from "../ui/button.tsx";
import { Segmented } from "../ui/fields.tsx";
import { useFirstText } from "../ui/hooks.ts";
import { Menu, MenuItem } from "../ui/overlays.tsx";
import { createForm, maxListCharacters, maxPromptCharacters, useForm } from "./form.ts";
import { GridAxes } from "./grid-axes.tsx";
import { ImproveButton, Improvement, useImprovement } from "./improve.tsx";
import { Library, type LibraryShelf } from "./library.tsx";
import type { Plan } from "./plan.ts";
import { PromptPreview, StyleChips } from "./prompt-preview.tsx";
import { LorasInPrompt } from "./loras.tsx";
import { MarkedField } from "./marked-field.tsx";
import { ReferenceList } from "./reference-list.tsx";
import { ReferencePicker, useReferencePicker } from "./reference-picker.tsx";
import { useInsert, usePromptFiles, usePromptHistory } from "./prompt-field.ts";

const shelves = [
  ["style", Palette],
  ["list", ListPlus],
  ["favourite", Bookmark],
] as const;

interface ToolsProps {
  readonly onChooseFile: () => void;
  readonly onEarlier: () => void;
  readonly improving: ReturnType<typeof useImprovement>;
  readonly onOpen: (shelf: LibraryShelf) => void;
  readonly onAddPicture: () => void;
}

/** How much is made at once, and what is kept to be used again. */
function PromptTools({ onChooseFile, onEarlier, improving, onOpen, onAddPicture }: ToolsProps) {
  const t = useTranslations("create");
  const { mode } = useForm();
  const more = [
    { label: t("references.add"), Icon: ImagePlus, act: onAddPicture },
    ...shelves.map(([shelf, Icon]) => ({
      label: t(`library.${shelf}.title`),
      Icon,
      act: () => onOpen(shelf),
    })),
  ];
  return (
    <div className="flex flex-wrap items-center justify-between gap-x-2 gap-y-1 border-b border-line px-2 py-1.5 sm:px-3">
      <Segmented
        label={t("mode")}
        value={mode}
        onChange={(next) => createForm.set({ mode: next })}
        options={(["one", "list", "grid"] as const).map((value) => ({ value, label: t(`modes.${value}`) }))}
      />
      <div className="ms-auto flex items-center">
        {mode === "list" ? (
          <IconButton label={t("promptFile")} onClick={onChooseFile}>
            <FileUp aria-hidden />
          </IconButton>
        ) : (
          <IconButton label={t("earlier")} keys="Alt+ArrowUp" onClick={onEarlier}>
            <History aria-hidden />
          </IconButton>
        )}
        <ImproveButton improving={improving} />
        <div className="flex max-sm:hidden">
          {more.map(({ label, Icon, act }) => (
            <IconButton key={label} label={label} onClick={act}>
              <Icon aria-hidden />
            </IconButton>
          ))}
        </div>
        {/* A phone has no room for all of them in one row. */}
        <div className="sm:hidden">
          <Menu
            align="end"
            trigger={
              <IconButton label={t("promptTools")}>
                <Ellipsis aria-hidden />
              </IconButton>
            }
          >
            {more.map(({ label, Icon, act }) => (
              <MenuItem key={label} onSelect={act}>
                <Icon aria-hidden />
                {label}
              </MenuItem>
            ))}
          </Menu>
        </div>
      </div>
    </div>
  );
}

interface PromptCardProps {
  readonly chosen: OfferedWorkflow | undefined;
  readonly offered: readonly OfferedWorkflow[] | undefined;
  readonly plan: Plan | null;
  readonly answer: Estimate | undefined;
  /** Of several pictures; undefined until it is known. */
  readonly ofBatch: BatchEstimate | undefined;
  readonly canMake: boolean;
  readonly isBusy: boolean;
  readonly onMake: () => void;
}

/** The line beside the button: what is in the way, else when and for how much. */
function BeforeMaking({ plan, answer, ofBatch }: Pick<PromptCardProps, "plan" | "answer" | "ofBatch">) {
  const t = useTranslations("create");
  const count = plan?.requests.length ?? 0;
  if (plan?.problem?.what === "tooMany")
    return <Warning>{t("problems.tooMany", { count: plan.problem.count })}</Warning>;
  if (count > 1 && ofBatch !== undefined) return <BatchEstimateLine answer={ofBatch} count={count} />;
  return <OfferLine answer={answer} count={count} />;
}

function NegativePrompt() {
  const t = useTranslations("create");
  const { negativePrompt } = useForm();
  const field = useRef<HTMLTextAreaElement>(null);
  return (
    <label className="mx-4 flex items-baseline gap-3 border-t border-line py-2.5 sm:mx-5">
      <span className="shrink-0 text-xs text-quiet">{t("negativePrompt")}</span>
      <MarkedField
        field={field}
        box="text-sm"
        value={negativePrompt}
        placeholder={t("negativePromptHint")}
        maxLength={maxPromptCharacters}
        rows={1}
        onChange={(event) => createForm.set({ negativePrompt: event.target.value })}
        className="field-sizing-content max-h-24 resize-none outline-none placeholder:text-quiet"
      />
    </label>
  );
}

function Grid({ chosen, offered, plan }: Pick<PromptCardProps, "chosen" | "offered" | "plan">) {
  const { mode } = useForm();
  if (mode !== "grid" || chosen === undefined || offered === undefined) return null;
  return <GridAxes chosen={chosen} offered={offered} problem={plan?.problem ?? null} />;
}

/** The prompt with all that belongs to its words, and the Generate button. */
export function PromptCard({ chosen, offered, plan, canMake, isBusy, onMake, ...shown }: PromptCardProps) {
  const t = useTranslations("create");
  const form = useForm();
  const { drop, choose } = usePromptFiles();
  const { field, insert } = useInsert();
  useFirstText(field, form.prompt, createForm.addFirst);
  const history = usePromptHistory();
  const improving = useImprovement();
  const [shelf, setShelf] = useState<LibraryShelf | null>(null);
  const { references, open, ...picker } = useReferencePicker(chosen);
  const isList = form.mode === "list";
  return (
    <section
      aria-label={t("prompt")}
      className="flex flex-col rounded-card border border-edge/70 bg-surface transition-colors duration-120 focus-within:border-ink"
    >
      <div
        className="contents"
        onDragOver={references.over}
        onDrop={references.drop}
        onPaste={references.paste}
      >
        <PromptTools
          onChooseFile={choose}
          onEarlier={history.back}
          improving={improving}
          onOpen={setShelf}
          onAddPicture={open}
        />
        <MarkedField
          field={field}
          isList={isList}
          box="px-4 pt-4 pb-2 text-lg sm:px-5"
          onDrop={drop}
          aria-label={t("prompt")}
          placeholder={t(isList ? "listHint" : "promptHint")}
          value={form.prompt}
          // What a browser puts back at a reload would count as typed.
          autoComplete="off"
          maxLength={isList ? maxListCharacters : maxPromptCharacters}
          rows={3}
          onKeyDown={isList ? undefined : history.press}
          onChange={(event) => createForm.set({ prompt: event.target.value })}
          className="field-sizing-content max-h-[40dvh] min-h-26 w-full resize-none outline-none placeholder:text-quiet"
        />
        <Improvement improving={improving} />
        <PromptPreview />
        <StyleChips />
        {chosen === undefined || offered === undefined ? null : (
          <>
            <LorasInPrompt workflow={chosen} />
            <ReferenceList chosen={chosen} offered={offered} />
            <ReferencePicker chosen={chosen} references={references} {...picker} />
          </>
        )}
        {chosen?.params.negativePrompt === undefined ? null : <NegativePrompt />}
        <Grid chosen={chosen} offered={offered} plan={plan} />
        <div className="flex items-center justify-between gap-x-4 gap-y-2 border-t border-line px-4 py-3 max-sm:flex-col max-sm:items-stretch sm:px-5">
          <BeforeMaking plan={plan} {...shown} />
          <RunButton canRun={canMake} isBusy={isBusy} onRun={onMake}>
            {t("make", { count: Math.max(1, plan?.requests.length ?? 1) })}
          </RunButton>
        </div>
      </div>
      <Library shelf={shelf} onClose={() => setShelf(null)} onInsert={insert} />
    </section>
  );
}
