"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import type { FormEvent } from "react";
import type { PresetView } from "@atelier/server/presets";
import { api } from "../client/api.ts";
import { failureOf, useFailureText } from "../ui/failures.ts";
import { keys, useMe } from "../client/queries.ts";
import { Warning } from "../jobs/offer-line.tsx";
import { Area } from "../ui/area.tsx";
import { Button } from "../ui/button.tsx";
import { Checkbox, Field } from "../ui/fields.tsx";

type Typed<View> = View extends PresetView ? Pick<View, "type" | "content"> : never;

/** A preset that is being written; without an id it is new. */
export type PresetDraft = Typed<PresetView> & {
  readonly id: string | null;
  readonly name: string;
  readonly isStudio: boolean;
};

type Save = Parameters<typeof api.presets.save.mutate>[0];

function toSave({ id, name, isStudio, type, content }: PresetDraft): Save {
  // Safe cast: type and content come from one draft.
  return { name: name.trim(), isStudio, type, content, ...(id === null ? {} : { id }) } as Save;
}

interface TextsProps {
  readonly draft: PresetDraft;
  readonly onChange: (draft: PresetDraft) => void;
}

/** The words of a list or of a style; a favourite has only its name. */
function Texts({ draft, onChange }: TextsProps) {
  const t = useTranslations("create.library");
  const c = useTranslations("create");
  switch (draft.type) {
    case "favourite":
      return null;
    case "list":
      return (
        <Area
          label={t("lines")}
          hint={t("linesHint")}
          rows={8}
          maxLength={200_000}
          value={draft.content.lines.join("\n")}
          onChange={(text) => onChange({ ...draft, content: { lines: text.split("\n") } })}
        />
      );
    case "style":
      return (
        <>
          <Area
            label={c("prompt")}
            hint={t("styleHint", { place: "{prompt}" })}
            rows={3}
            maxLength={2_000}
            value={draft.content.prompt}
            onChange={(prompt) => onChange({ ...draft, content: { ...draft.content, prompt } })}
          />
          <Area
            label={c("negativePrompt")}
            rows={2}
            maxLength={2_000}
            value={draft.content.negativePrompt}
            onChange={(negativePrompt) =>
              onChange({ ...draft, content: { ...draft.content, negativePrompt } })
            }
          />
        </>
      );
  }
}

/** The server says what is wrong with a name or a line; without an answer there is no message. */
function useSaveProblem(): (error: unknown) => string {
  const textOf = useFailureText();
  return (error) => {
    const failure = failureOf(error);
    const { title, advice } = textOf(failure);
    return failure.message || `${title}. ${advice}`;
  };
}

interface PresetFormProps {
  readonly draft: PresetDraft;
  readonly onChange: (draft: PresetDraft) => void;
  readonly onDone: () => void;
}

/** Name and words of a preset; an admin may offer it to all users of the studio. */
export function PresetForm({ draft, onChange: setDraft, onDone }: PresetFormProps) {
  const t = useTranslations("create.library");
  const me = useMe();
  const queries = useQueryClient();
  const problemOf = useSaveProblem();
  const save = useMutation({
    mutationFn: () => api.presets.save.mutate(toSave(draft)),
    onSuccess: onDone,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.presets }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <Field
        label={t("name")}
        name="name"
        required
        maxLength={60}
        value={draft.name}
        onChange={(event) => setDraft({ ...draft, name: event.target.value })}
        {...(draft.type === "list" ? { hint: t("listNameHint") } : {})}
      />
      <Texts draft={draft} onChange={setDraft} />
      {me?.isAdmin === true && draft.type !== "favourite" ? (
        <Checkbox checked={draft.isStudio} onChange={(isStudio) => setDraft({ ...draft, isStudio })}>
          {t("forAll")}
        </Checkbox>
      ) : null}
      {save.error === null ? null : <Warning>{problemOf(save.error)}</Warning>}
      <div className="flex justify-end gap-2">
        <Button look="quiet" onClick={onDone}>
          {t("back")}
        </Button>
        <Button look="primary" type="submit" disabled={save.isPending || draft.name.trim() === ""}>
          {t("save")}
        </Button>
      </div>
    </form>
  );
}
