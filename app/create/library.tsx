"use client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Pencil, Plus, Trash2 } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { PresetView } from "@atelier/server/presets";
import { api } from "../client/api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { keys, useMe } from "../client/queries.ts";
import { Button, cx, IconButton } from "../ui/button.tsx";
import { Dialog } from "../ui/overlays.tsx";
import { toastWithUndo } from "../ui/toasts.tsx";
import { createForm, mostStyles, readForm, useForm } from "./form.ts";
import { PresetForm, type PresetDraft } from "./preset-form.tsx";

export type LibraryShelf = PresetView["type"];

type Preset<Type extends LibraryShelf> = Extract<PresetView, { type: Type }>;

/** All that is kept under a name on a shelf; of one name only the one that counts. */
export function usePresets<Type extends LibraryShelf>(shelf: Type): readonly Preset<Type>[] {
  const { data } = useQuery({ queryKey: keys.presets, queryFn: () => api.presets.list.query() });
  const onShelf = (data?.items ?? []).filter((one): one is Preset<Type> => one.type === shelf);
  const names = onShelf.map(({ name }) => name.toLowerCase());
  return onShelf.filter(({ name }, at) => names.indexOf(name.toLowerCase()) === at);
}

/** Removes with undo. */
function useRemove() {
  const t = useTranslations("create");
  const queries = useQueryClient();
  const onError = useFailureToast();
  const onSettled = () => queries.invalidateQueries({ queryKey: keys.presets });
  const restore = useMutation({
    mutationFn: (id: string) => api.presets.restore.mutate({ id }),
    onError,
    onSettled,
  });
  return useMutation({
    mutationFn: ({ id }: { readonly id: string; readonly name: string }) => api.presets.remove.mutate({ id }),
    onSuccess: (_answer, { id, name }) =>
      toastWithUndo({
        title: t("library.removed", { name }),
        undoLabel: t("undo"),
        onUndo: () => restore.mutate(id),
      }),
    onError,
    onSettled,
  });
}

function summaryOf(preset: PresetView): string {
  switch (preset.type) {
    case "list":
      return preset.content.lines.slice(0, 12).join(" · ");
    case "style":
      return [preset.content.prompt, preset.content.negativePrompt && `− ${preset.content.negativePrompt}`]
        .filter(Boolean)
        .join("  ");
    case "favourite":
      return readForm(JSON.stringify(preset.content)).prompt;
  }
}

interface RowProps {
  readonly preset: PresetView;
  readonly isChosen: boolean;
  /** No further one can be chosen. */
  readonly isFull: boolean;
  readonly onUse: () => void;
  readonly onEdit: () => void;
}

/** A list by what is written for it in a prompt. */
function PresetName({ preset: { type, name, title } }: Pick<RowProps, "preset">) {
  if (type !== "list") return <span className="truncate">{title}</span>;
  return (
    <>
      <span className="truncate">{`__${name}__`}</span>
      {title === name ? null : <span className="truncate text-xs font-normal text-quiet">{title}</span>}
    </>
  );
}

function Row({ preset, isChosen, isFull, onUse, onEdit }: RowProps) {
  const t = useTranslations("create.library");
  const me = useMe();
  const remove = useRemove();
  const { id, name, from, type } = preset;
  const mayChange = from === "own" || (from === "studio" && me?.isAdmin === true);
  return (
    <li className="flex items-center gap-1 border-t border-line py-1 first:border-t-0">
      <button
        type="button"
        aria-pressed={type === "style" ? isChosen : undefined}
        disabled={isFull && !isChosen}
        onClick={onUse}
        className={cx(
          "flex min-w-0 flex-1 flex-col rounded-control px-2.5 py-1.5 text-start enabled:hover:bg-hover disabled:opacity-45",
          isChosen && "bg-accent-tint",
        )}
      >
        <span className="flex items-baseline gap-2 text-sm font-medium">
          <PresetName preset={preset} />
          {from === "own" ? null : (
            <span className="text-xs font-normal text-quiet">{t(`from.${from}`)}</span>
          )}
        </span>
        <span className="truncate text-xs text-quiet">{summaryOf(preset)}</span>
      </button>
      {mayChange && id !== null ? (
        <>
          <IconButton label={t("edit", { name })} onClick={onEdit}>
            <Pencil aria-hidden />
          </IconButton>
          <IconButton label={t("remove", { name })} onClick={() => remove.mutate({ id, name })}>
            <Trash2 aria-hidden />
          </IconButton>
        </>
      ) : null}
    </li>
  );
}

interface LibraryProps {
  /** Null while it is closed. */
  readonly shelf: LibraryShelf | null;
  readonly onClose: () => void;
  /** Puts text into the prompt. */
  readonly onInsert: (text: string) => void;
}

/** What is used again by a click: a style is put around the prompt, a list into it, a favourite fills the form. */
function useUse({ onClose, onInsert }: Omit<LibraryProps, "shelf">) {
  const t = useTranslations("create");
  return (preset: PresetView) => {
    const former = createForm.get();
    switch (preset.type) {
      case "style": {
        const others = former.styles.filter((name) => name !== preset.name);
        const isNew = others.length === former.styles.length;
        return createForm.set({ styles: isNew ? [...others, preset.name] : others });
      }
      case "list":
        onInsert(`__${preset.name}__`);
        return onClose();
      case "favourite":
        createForm.set(readForm(JSON.stringify(preset.content)));
        toastWithUndo({
          title: t("library.used", { name: preset.name }),
          undoLabel: t("undo"),
          onUndo: () => createForm.set(former),
        });
        return onClose();
    }
  };
}

/** What is new on a shelf begins with what is in the form. */
function draftOf(shelf: LibraryShelf): PresetDraft {
  const form = createForm.get();
  const common = { id: null, name: "", isStudio: false };
  switch (shelf) {
    case "style":
      return {
        ...common,
        type: shelf,
        content: { prompt: form.prompt, negativePrompt: form.negativePrompt },
      };
    case "list":
      return { ...common, type: shelf, content: { lines: [] } };
    case "favourite":
      return { ...common, type: shelf, content: { ...form } };
  }
}

type Drafts = Partial<Record<LibraryShelf, PresetDraft | null>>;

/** Lists, styles and favourites, to be used, kept, changed and removed. */
export function Library({ shelf, ...props }: LibraryProps) {
  const t = useTranslations("create.library");
  // What was open is shown until the dialog has faded.
  const [last, setLast] = useState<LibraryShelf>("style");
  // One that is half written is there again when the dialog is opened again.
  const [drafts, setDrafts] = useState<Drafts>({});
  if (shelf !== null && shelf !== last) setLast(shelf);
  const shown = shelf ?? last;
  const draft = drafts[shown] ?? null;
  const setDraft = (next: PresetDraft | null) => setDrafts((others) => ({ ...others, [shown]: next }));
  const presets = usePresets(shown);
  const { styles } = useForm();
  const use = useUse(props);
  return (
    <Dialog open={shelf !== null} onOpenChange={props.onClose} title={t(`${shown}.title`)}>
      {draft === null ? (
        <div className="flex flex-col gap-3">
          <p className="text-xs text-quiet">{t(`${shown}.help`)}</p>
          <ul className="-mx-2.5 flex max-h-[48dvh] flex-col overflow-y-auto">
            {presets.map((preset) => (
              <Row
                key={`${preset.from} ${preset.name}`}
                preset={preset}
                isChosen={preset.type === "style" && styles.includes(preset.name)}
                isFull={preset.type === "style" && styles.length >= mostStyles}
                onUse={() => use(preset)}
                onEdit={() => setDraft({ ...preset, isStudio: preset.from === "studio" })}
              />
            ))}
          </ul>
          <div className="flex justify-between gap-2">
            <Button size="small" onClick={() => setDraft(draftOf(shown))}>
              <Plus aria-hidden />
              {t(`${shown}.add`)}
            </Button>
            <Button size="small" look="quiet" onClick={props.onClose}>
              {t("done")}
            </Button>
          </div>
        </div>
      ) : (
        <PresetForm draft={draft} onChange={setDraft} onDone={() => setDraft(null)} />
      )}
    </Dialog>
  );
}
