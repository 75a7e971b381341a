"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { type FormEvent, useEffect, useId, useRef, useState } from "react";
import type { PromptVersion, Trial, TrialSide } from "@atelier/server/assistant";
import { api } from "../../client/api.ts";
import { failureOf, useFailureText } from "../../ui/failures.ts";
import { Button, Spinner } from "../../ui/button.tsx";
import { useModels } from "./figures.tsx";
import { TrialSides } from "./trial-sides.tsx";

/** What prompts are tried with; all prompts of the page share it. */
export interface Sample {
  readonly question: string;
  /** Lines of the assistant begin with `>`. */
  readonly turns: string;
  /** What the user said in a talk. */
  readonly lines: string;
}

export const emptySample: Sample = { question: "", turns: "", lines: "" };

const linesOf = (text: string) => text.split("\n").flatMap((line) => line.trim() || []);

/** The turns of a text with one turn a line. */
export function turnsOf(text: string): { role: "user" | "assistant"; text: string }[] {
  return linesOf(text).flatMap((line) => {
    const isAnswer = line.startsWith(">");
    const said = isAnswer ? line.slice(1).trim() : line;
    return said === "" ? [] : [{ role: isAnswer ? "assistant" : "user", text: said }];
  });
}

function trialOf({ role, candidate }: Tried, { question, turns, lines }: Sample): Trial {
  return role === "archivist"
    ? { role, candidate, lines: linesOf(lines) }
    : { role, candidate, question: question.trim(), turns: turnsOf(turns) };
}

interface Running {
  readonly sides: readonly TrialSide[] | undefined;
  readonly isPending: boolean;
  readonly isCancelled: boolean;
  readonly error: Error | null;
  readonly run: (trial: Trial) => void;
  readonly cancel: () => void;
}

/** One trial at a time; it is cancelled when its place on the page goes. */
function useTrial(): Running {
  const queries = useQueryClient();
  const stop = useRef<AbortController | null>(null);
  const [isCancelled, setCancelled] = useState(false);
  useEffect(() => () => stop.current?.abort(), []);
  const { mutate, reset, data, isPending, error } = useMutation({
    mutationFn: (trial: Trial) => {
      stop.current = new AbortController();
      return api.admin.assistant.tryPrompt.mutate(trial, { signal: stop.current.signal });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["admin", "assistant", "figures"] }),
  });
  return {
    sides: data?.sides,
    isPending,
    isCancelled,
    error,
    run: (trial) => {
      setCancelled(false);
      mutate(trial);
    },
    cancel: () => {
      stop.current?.abort();
      reset();
      setCancelled(true);
    },
  };
}

interface AreaProps {
  readonly label: string;
  readonly hint?: string;
  readonly placeholder?: string;
  readonly value: string;
  readonly rows: number;
  readonly onChange: (value: string) => void;
}

function Area({ label, hint, value, rows, placeholder, onChange }: AreaProps) {
  const id = useId();
  return (
    <div className="flex min-w-0 flex-col gap-1.5">
      <label htmlFor={id} className="text-xs font-medium">
        {label}
      </label>
      <textarea
        id={id}
        aria-describedby={hint === undefined ? undefined : `${id} hint`}
        value={value}
        rows={rows}
        placeholder={placeholder}
        maxLength={8_000}
        onChange={(event) => onChange(event.target.value)}
        className="field-sizing-content max-h-60 w-full rounded-control border border-edge bg-surface px-3 py-2 text-sm placeholder:text-quiet"
      />
      {hint === undefined ? null : (
        <p id={`${id} hint`} className="text-xs text-quiet">
          {hint}
        </p>
      )}
    </div>
  );
}

interface FieldsProps {
  readonly role: PromptVersion["role"];
  readonly sample: Sample;
  readonly onChange: (sample: Sample) => void;
}

function SampleFields({ role, sample, onChange }: FieldsProps) {
  const t = useTranslations("admin.assistant.try");
  const areaOf = (name: keyof Sample, rows: number) => ({
    label: t(name),
    value: sample[name],
    rows,
    onChange: (value: string) => onChange({ ...sample, [name]: value }),
  });
  if (role === "archivist") return <Area {...areaOf("lines", 4)} hint={t("linesHint")} />;
  return (
    <div className="grid gap-3 md:grid-cols-2">
      <Area {...areaOf("question", 2)} placeholder={t("questionHint")} />
      <Area {...areaOf("turns", 2)} hint={t("turnsHint")} />
    </div>
  );
}

/** A version that is stored, or a draft that is not. */
export interface Tried {
  readonly role: PromptVersion["role"];
  readonly candidate: Trial["candidate"];
}

/** Names what is tried: `version 2 of the Responder`. */
export function useTriedName(): (tried: Tried) => string {
  const t = useTranslations("admin.assistant");
  return ({ role, candidate }) =>
    "version" in candidate
      ? t("try.version", { version: candidate.version, role: t(`roles.${role}`) })
      : t("try.draft", { role: t(`roles.${role}`) });
}

interface TrialProps {
  readonly tried: Tried;
  readonly activeVersion: number;
  readonly sample: Sample;
  readonly onSample: (sample: Sample) => void;
}

/** Tries a prompt beside the active version with a sample of the admin's own. */
export function PromptTrial({ tried, activeVersion, sample, onSample }: TrialProps) {
  const t = useTranslations("admin.assistant.try");
  const what = useTriedName()(tried);
  const model = useModels().data?.items.find(({ stage }) => stage === tried.role);
  const titleId = useId();
  const trial = useTrial();
  const asked = trialOf(tried, sample);
  const isEmpty = "lines" in asked ? asked.lines.length === 0 : asked.question === "";
  const submit = (event: FormEvent) => {
    event.preventDefault();
    trial.run(asked);
  };
  return (
    <section
      aria-labelledby={titleId}
      className="flex w-full flex-col gap-4 rounded-card border border-line p-4"
    >
      <h4 id={titleId} className="text-sm font-medium">
        {t("title", { what })}
      </h4>
      {model?.problem ? (
        <p className="text-sm">{t("noModel", { problem: model.problem })}</p>
      ) : (
        <>
          <p className="max-w-[68ch] text-xs text-quiet">
            {t(`text.${tried.role}`, { model: model?.model ?? "…" })}
          </p>
          <form onSubmit={submit} className="flex flex-col gap-3">
            <SampleFields role={tried.role} sample={sample} onChange={onSample} />
            <div>
              {trial.isPending ? (
                <Button size="small" onClick={trial.cancel}>
                  <Spinner />
                  {t("cancel")}
                </Button>
              ) : (
                <Button type="submit" size="small" disabled={isEmpty}>
                  {t(trial.sides === undefined ? "run" : "again")}
                </Button>
              )}
            </div>
          </form>
          <Outcome trial={trial} activeVersion={activeVersion} />
        </>
      )}
    </section>
  );
}

function Outcome({ trial, activeVersion }: { readonly trial: Running; readonly activeVersion: number }) {
  const t = useTranslations("admin.assistant.try");
  const textOf = useFailureText();
  const failure = trial.error === null ? null : failureOf(trial.error);
  return (
    <>
      <div role="status" className="text-sm empty:hidden">
        {trial.isPending ? <p className="text-quiet">{t("running")}</p> : null}
        {trial.isCancelled && !trial.isPending ? <p className="text-quiet">{t("cancelled")}</p> : null}
        {failure === null ? null : (
          <p className="text-fail">
            {textOf(failure).title}. {failure.message}
          </p>
        )}
      </div>
      {trial.sides === undefined ? null : <TrialSides sides={trial.sides} activeVersion={activeVersion} />}
    </>
  );
}
