"use client";
import { useFormatter, useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import type { PromptVersion } from "@atelier/server/assistant";
import { api } from "../../client/api.ts";
import { Button, cx } from "../../ui/button.tsx";
import { diffLines } from "../../ui/diff.ts";
import { Field } from "../../ui/fields.tsx";
import { toastDone } from "../../ui/toasts.tsx";
import { useAdminAction } from "../controls.tsx";
import { LiveData, useLiveQuery } from "../live.tsx";
import { Panel } from "../parts.tsx";
import { emptySample, PromptTrial, type Sample, type Tried, useTriedName } from "./trial.tsx";

const lineStyles = {
  same: "text-quiet",
  added: "bg-ok/10 text-ink",
  removed: "bg-fail/10 text-ink line-through",
};
const lineMarks = { same: " ", added: "+", removed: "−" };

/** What another version would change. */
function Difference({ from, to }: { readonly from: string; readonly to: string }) {
  const t = useTranslations("admin.assistant");
  if (from === to) return <p className="text-xs text-quiet">{t("same")}</p>;
  return (
    <div
      role="group"
      aria-label={t("changed")}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
      tabIndex={0}
      className="max-h-80 overflow-auto rounded-control border border-line bg-surface py-2 font-mono text-xs"
    >
      {diffLines(from, to).map(({ text, kind }, at) => (
        <p key={at} className={cx("px-3 break-words whitespace-pre-wrap", lineStyles[kind])}>
          {lineMarks[kind]} {text}
        </p>
      ))}
    </div>
  );
}

interface SampleProps {
  readonly sample: Sample;
  readonly onSample: (sample: Sample) => void;
}

interface TryButtonProps {
  readonly tried: Tried;
  readonly isOpen: boolean;
  readonly isDisabled?: boolean;
  readonly onToggle: () => void;
}

/** Opens and closes the trial below it; closing cancels it. */
function TryButton({ tried, isOpen, isDisabled = false, onToggle }: TryButtonProps) {
  const t = useTranslations("admin.assistant.try");
  const what = useTriedName()(tried);
  return (
    <Button
      size="small"
      aria-label={t(isOpen ? "closeLabel" : "openLabel", { what })}
      aria-expanded={isOpen}
      disabled={isDisabled && !isOpen}
      onClick={onToggle}
    >
      {t(isOpen ? "close" : "open")}
    </Button>
  );
}

interface EditProps extends SampleProps {
  readonly active: PromptVersion;
  readonly onDone: () => void;
}

/** A new version of a prompt, which is stored and not yet used. */
function EditPrompt({
  active: { role, version: activeVersion, text: before },
  onDone,
  ...shared
}: EditProps) {
  const t = useTranslations("admin.assistant");
  const [text, setText] = useState(before);
  const [note, setNote] = useState("");
  const [isTried, setTried] = useState(false);
  const save = useAdminAction(async () => {
    const { version } = await api.admin.assistant.addPrompt.mutate({ role, text, note });
    toastDone(t("saved", { version }));
    onDone();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  const isEmpty = text.trim() === "";
  const tried = { role, candidate: { text } };
  return (
    <div className="flex flex-col gap-4">
      <form onSubmit={submit} className="flex flex-col gap-3">
        <textarea
          aria-label={t("text", { role: t(`roles.${role}`) })}
          value={text}
          rows={10}
          maxLength={20_000}
          onChange={(event) => setText(event.target.value)}
          className="field-sizing-content max-h-[60dvh] w-full rounded-control border border-edge bg-surface px-3 py-2 font-mono text-xs"
        />
        <Field
          name="note"
          label={t("note")}
          placeholder={t("noteHint")}
          value={note}
          maxLength={200}
          onChange={(event) => setNote(event.target.value)}
        />
        <Difference from={before} to={text} />
        <div className="flex gap-2">
          <Button type="submit" size="small" disabled={save.isPending || isEmpty || text === before}>
            {t("save")}
          </Button>
          <TryButton
            tried={tried}
            isOpen={isTried}
            isDisabled={isEmpty}
            onToggle={() => setTried(!isTried)}
          />
          <Button size="small" look="quiet" onClick={onDone}>
            {t("cancel")}
          </Button>
        </div>
      </form>
      {isTried ? <PromptTrial {...shared} tried={tried} activeVersion={activeVersion} /> : null}
    </div>
  );
}

interface VersionProps extends SampleProps {
  readonly prompt: PromptVersion;
  readonly active: PromptVersion;
}

function Version({ prompt, active, ...shared }: VersionProps) {
  const t = useTranslations("admin.assistant");
  const format = useFormatter();
  const { role, version, note, authorId, createdAt, isActive } = prompt;
  const [isTried, setTried] = useState(false);
  const tried = { role, candidate: { version } };
  const activate = useAdminAction(async () => {
    await api.admin.assistant.activatePrompt.mutate({ role, version });
    toastDone(t("activated", { version }));
  });
  return (
    <li className="border-t border-line py-3">
      <details>
        <summary className="cursor-pointer text-sm">
          {t("version", { version })}
          <span className="text-xs text-quiet">
            {isActive ? ` · ${t("active")}` : ""} ·{" "}
            {authorId === null && version === 1
              ? t("builtIn")
              : format.dateTime(createdAt, { dateStyle: "medium" })}
            {note === "" ? "" : ` · ${note}`}
          </span>
        </summary>
        <div className="mt-3 flex flex-col items-start gap-3">
          <div className="w-full">
            {isActive ? (
              <pre className="max-h-80 overflow-auto rounded-control border border-line bg-surface px-3 py-2 font-mono text-xs whitespace-pre-wrap">
                {prompt.text}
              </pre>
            ) : (
              <Difference from={active.text} to={prompt.text} />
            )}
          </div>
          <div className="flex flex-wrap gap-2">
            {isActive ? null : (
              <Button
                size="small"
                aria-label={t("activateLabel", { version, role: t(`roles.${role}`) })}
                disabled={activate.isPending}
                onClick={() => activate.mutate()}
              >
                {t("activate")}
              </Button>
            )}
            <TryButton tried={tried} isOpen={isTried} onToggle={() => setTried(!isTried)} />
          </div>
          {isTried ? <PromptTrial {...shared} tried={tried} activeVersion={active.version} /> : null}
        </div>
      </details>
    </li>
  );
}

interface RoleProps extends SampleProps {
  readonly versions: readonly PromptVersion[];
}

function RolePrompts({ versions, ...shared }: RoleProps) {
  const t = useTranslations("admin.assistant");
  const [isEdited, setEdited] = useState(false);
  const active = versions.find(({ isActive }) => isActive);
  if (!active) return null;
  return (
    <section className="flex flex-col gap-3">
      <div className="flex items-center justify-between gap-4">
        <h3 className="text-sm font-medium">{t(`roles.${active.role}`)}</h3>
        {isEdited ? null : (
          <Button
            size="small"
            aria-label={`${t("edit")}: ${t(`roles.${active.role}`)}`}
            onClick={() => setEdited(true)}
          >
            {t("edit")}
          </Button>
        )}
      </div>
      {isEdited ? <EditPrompt {...shared} active={active} onDone={() => setEdited(false)} /> : null}
      <ul>
        {versions.map((prompt) => (
          <Version {...shared} key={prompt.version} prompt={prompt} active={active} />
        ))}
      </ul>
    </section>
  );
}

const roles = ["analyzer", "assembler", "responder", "archivist"] as const;

/** The prompts of the stages with all of their versions. */
export function Prompts() {
  const t = useTranslations("admin.assistant");
  const [sample, setSample] = useState(emptySample);
  const query = useLiveQuery(["assistant", "prompts"], () => api.admin.assistant.prompts.query(), 30_000);
  return (
    <Panel title={t("prompts")}>
      <LiveData query={query}>
        {({ items }) => (
          <div className="flex max-w-4xl flex-col gap-8">
            {roles.map((role) => (
              <RolePrompts
                key={role}
                versions={items.filter((prompt) => prompt.role === role)}
                sample={sample}
                onSample={setSample}
              />
            ))}
          </div>
        )}
      </LiveData>
    </Panel>
  );
}
