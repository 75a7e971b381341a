"use client";
import { Plus, Wand, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import { useWorkflows } from "../../client/cloud.ts";
import type { OfferedWorkflow } from "../../client/queries.ts";
import { Picture } from "../../pictures/picture.tsx";
import { Spinner } from "../../ui/button.tsx";
import { useFilePicker } from "../../uploads/drop.tsx";
import { referenceRoles } from "./mode-settings.ts";
import {
  findForPrompt,
  ModeAction,
  ModeHint,
  type ModeProps,
  paintsBy,
  PromptField,
  RunChoice,
  settingsOf,
  useRun,
} from "./parts.tsx";
import { changeRequest } from "./requests.ts";
import { GalleryStrip } from "../../pictures/gallery-strip.tsx";
import { TakesFiles, usePictureUploads } from "../../pictures/picture-input.tsx";

const rolesWith = (references: number) => ["image", ...referenceRoles.slice(0, references)];

/** The best live workflow for so many references. */
export function findForReferences(workflows: readonly OfferedWorkflow[] | undefined, count: number) {
  return findForPrompt(workflows, rolesWith(count));
}

/** As many references as a live workflow takes. */
export function mostReferences(workflows: readonly OfferedWorkflow[] | undefined): number {
  const counts = referenceRoles.map((_, at) => at + 1);
  return counts.findLast((count) => findForReferences(workflows, count) !== undefined) ?? 0;
}

const tile = "relative size-16 shrink-0 overflow-hidden rounded-control";

interface ReferencesProps {
  readonly ids: readonly string[];
  readonly most: number;
  readonly isUploading: boolean;
  readonly upload: (files: readonly File[]) => void;
  readonly onRemove: (imageId: string) => void;
}

/** The places for references: what is chosen, one to add to, and those that no engine takes. */
function References({ ids, most, isUploading, upload, onRemove }: ReferencesProps) {
  const t = useTranslations("edit");
  const pick = useFilePicker(upload);
  const isFull = ids.length >= most;
  return (
    <ul aria-label={t("references")} className="flex gap-2">
      {referenceRoles.map((role, at) => {
        const id = ids[at];
        if (id !== undefined)
          return (
            <li key={role} className={tile}>
              <Picture
                imageId={id}
                variant="thumbnail"
                alt={t("referenceAlt", { number: at + 1 })}
                className="size-full"
              />
              <button
                type="button"
                aria-label={t("referenceRemove", { number: at + 1 })}
                onClick={() => onRemove(id)}
                className="absolute top-0.5 inset-e-0.5 flex size-7 items-center justify-center rounded-full bg-black/70 text-white hover:bg-black [&_svg]:size-4"
              >
                <X aria-hidden />
              </button>
            </li>
          );
        return at === ids.length && !isFull ? (
          <li key={role} className={tile}>
            <button
              type="button"
              aria-label={t("reference")}
              disabled={isUploading}
              onClick={() => pick({ multiple: true })}
              className="flex size-full items-center justify-center rounded-control border border-dashed border-edge text-quiet hover:bg-hover hover:text-ink [&_svg]:size-5"
            >
              {isUploading ? <Spinner /> : <Plus aria-hidden />}
            </button>
          </li>
        ) : (
          <li
            key={role}
            aria-hidden
            className={`${tile} border border-dashed border-line ${at >= most ? "hatched opacity-60" : ""}`}
          />
        );
      })}
    </ul>
  );
}

/** One more, as long as there is a place for it. */
export function withReference(ids: readonly string[], id: string): readonly string[] {
  return ids.includes(id) ? ids : [...ids, id].slice(0, referenceRoles.length);
}

interface Lack {
  readonly count: number;
  readonly most: number;
}

/** Why no workflow is there for so many references. */
export function lackOfReferences(
  t: ReturnType<typeof useTranslations<"edit">>,
  { count, most }: Lack,
): string {
  if (count > most && most > 0) return t("referencesTooMany", { most });
  return t(most > count ? "referenceNeeded" : "modes.change.none");
}

interface ReferenceChoiceProps extends ReferencesProps {
  /** Not offered from the gallery. */
  readonly leftOut: readonly string[];
  readonly onAdd: (imageId: string) => void;
}

/** References of a prompt: those that are chosen, and where further ones come from. */
export function ReferenceChoice({ leftOut, onAdd, ...references }: ReferenceChoiceProps) {
  const t = useTranslations("edit");
  const { ids, most, upload } = references;
  return (
    <>
      {most < referenceRoles.length ? (
        <p className="text-xs text-quiet">{t("referencesMost", { most })}</p>
      ) : null}
      <References {...references} />
      {ids.length < most ? (
        <>
          <TakesFiles take={upload} />
          <GalleryStrip
            title={t("referenceFromGallery")}
            leftOut={[...leftOut, ...ids]}
            chosenId={null}
            most={most - ids.length}
            onChoose={(chosen) => {
              for (const id of chosen) onAdd(id);
            }}
          />
        </>
      ) : null}
    </>
  );
}

/** References of the mode, and how they come and go. */
function useReferences({ modes, most }: Pick<ModeProps, "modes"> & { readonly most: number }) {
  const { read, change } = modes;
  const { referenceIds: ids } = modes.state.settings.change;
  const set = useCallback(
    (next: (before: readonly string[]) => readonly string[]) =>
      change("change", { referenceIds: next(read().settings.change.referenceIds) }),
    [change, read],
  );
  const add = useCallback((id: string) => set((before) => withReference(before, id)), [set]);
  const remove = (id: string) => set((before) => before.filter((one) => one !== id));
  const uploads = usePictureUploads({ most: Math.max(0, most - ids.length), onStored: add });
  return { ids, add, remove, ...uploads };
}

/** Edit: the whole picture becomes what the prompt says, after references where a workflow takes them. */
export function ChangeMode({ image, session, modes, isBusy, onJob, candidates }: ModeProps) {
  const t = useTranslations("edit");
  const [{ prompt: text }, change] = settingsOf(modes, "change");
  const most = mostReferences(useWorkflows("edit"));
  const { ids, add, remove, isUploading, upload } = useReferences({ modes, most });
  const run = useRun({
    modes,
    mode: "change",
    kind: "edit",
    fits: (workflow) => paintsBy(workflow, rolesWith(ids.length)),
    automatic: "best",
  });
  const prompt = text.trim();
  const base = changeRequest(image.id, { prompt, referenceIds: ids }, run.used);
  const request = { ...base, params: { ...base.params, ...run.params } };
  const obstacle = () => {
    if (run.used === undefined) return lackOfReferences(t, { count: ids.length, most });
    if (isUploading) return t("modes.change.sending");
    return prompt === "" ? t("modes.promptMissing") : null;
  };
  return (
    <>
      <ModeHint mode="change" />
      <PromptField
        label={t("changePrompt")}
        hint={t("changePromptHint")}
        value={text}
        onChange={(next) => change({ prompt: next })}
      />
      <ReferenceChoice
        ids={ids}
        most={most}
        leftOut={[image.id]}
        isUploading={isUploading}
        upload={upload}
        onAdd={add}
        onRemove={remove}
      />
      <RunChoice run={run} image={image} count={candidates.count} quoted={request} />
      <ModeAction
        icon={<Wand aria-hidden />}
        label={t("change")}
        obstacle={obstacle()}
        quoted={run.used === undefined || prompt === "" ? null : request}
        makeRequest={() => request}
        candidates={candidates}
        seeds={run.used?.params.seed}
        spent={session.history.marks}
        isBusy={isBusy}
        onJob={onJob}
      />
    </>
  );
}
