"use client";
import { CircleX } from "lucide-react";
import { useFormatter, useTranslations } from "next-intl";
import type { ReactNode } from "react";
import type { TrialOutcome, TrialSide } from "@atelier/server/assistant";
import { cx } from "../../ui/button.tsx";
import { useDollars } from "../../ui/hooks.ts";
import { Json } from "../../ui/json.tsx";
import { useMs } from "./figures.tsx";

type Context = Extract<TrialOutcome, { type: "context" }>;
type Answer = Extract<TrialOutcome, { type: "answer" }>;

/** A text of any length as it is. */
function Words({ children }: { readonly children: string }) {
  return (
    <pre
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
      tabIndex={0}
      className="max-h-80 overflow-auto rounded-control bg-well p-3 font-sans text-sm break-words whitespace-pre-wrap"
    >
      {children}
    </pre>
  );
}

/** JSON with one line a field, so that two results are compared line by line; what the other side has too is quiet. */
function Fields({ value, other }: { readonly value: object; readonly other: object | null }) {
  const linesOf = (fields: object) =>
    Object.entries(fields).map(([name, field]) => `"${name}": ${JSON.stringify(field)}`);
  const others = other === null ? null : new Set(linesOf(other));
  return (
    <ul
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
      tabIndex={0}
      className="flex max-h-80 flex-col gap-1 overflow-auto rounded-control bg-well p-3 font-mono text-xs"
    >
      {linesOf(value).map((line) => (
        <li key={line} className={cx("break-words", others?.has(line) && "text-quiet")}>
          {line}
        </li>
      ))}
    </ul>
  );
}

function Fault({ children }: { readonly children: ReactNode }) {
  return (
    <p className="flex items-start gap-1.5 text-sm text-fail">
      <CircleX aria-hidden className="mt-0.5 size-4 shrink-0" />
      <span className="min-w-0 break-words">{children}</span>
    </p>
  );
}

/** What the assembler's prompt became, and all that the responder would be given with it. */
function ContextView({ context, intro }: Context) {
  const t = useTranslations("admin.assistant.try");
  return (
    <>
      <p className="tabular text-xs text-quiet">
        {t("context", context.tokens)} · {t("used", { count: context.used.length })}
        {context.isCut ? ` · ${t("cut")}` : ""}
      </p>
      {intro === "" ? null : <Words>{intro}</Words>}
      <details>
        <summary className="cursor-pointer text-xs text-quiet">{t("whole")}</summary>
        <div className="mt-2 flex flex-col gap-2">
          <h6 className="text-xs font-medium">{t("instructions")}</h6>
          <Words>{context.instructions}</Words>
          {context.messages.map(({ role, content }, at) => (
            // oxlint-disable-next-line react/no-array-index-key -- the turns of one context stay as they are
            <div key={at}>
              <h6 className="mb-1 text-xs font-medium">{t(role)}</h6>
              <Words>{content}</Words>
            </div>
          ))}
        </div>
      </details>
    </>
  );
}

function AnswerView({ text, toolCalls }: Answer) {
  const t = useTranslations("admin.assistant.try");
  return (
    <>
      {text === "" && toolCalls.length > 0 ? null : <Words>{text === "" ? t("noWords") : text}</Words>}
      {toolCalls.map(({ name, input }, at) => (
        // oxlint-disable-next-line react/no-array-index-key -- the calls of one answer stay as they are
        <div key={at}>
          <p className="text-xs">
            {t("calls")} <code className="font-mono font-medium">{name}</code>
          </p>
          <Json value={input} />
        </div>
      ))}
    </>
  );
}

/** The object of an outcome that has one. */
function fieldsOf(outcome: TrialOutcome | undefined): object | null {
  if (outcome?.type === "analysis") return outcome.analysis;
  return outcome?.type === "memory" ? outcome.memory : null;
}

interface OutcomeProps {
  readonly outcome: TrialOutcome;
  readonly other: TrialOutcome | undefined;
}

function OutcomeView({ outcome, other }: OutcomeProps) {
  const t = useTranslations("admin.assistant.try");
  switch (outcome.type) {
    case "analysis":
      return <Fields value={outcome.analysis} other={fieldsOf(other)} />;
    case "memory":
      return outcome.memory === null ? (
        <p className="text-sm text-quiet">{t("nothing")}</p>
      ) : (
        <Fields value={outcome.memory} other={fieldsOf(other)} />
      );
    case "context":
      return <ContextView {...outcome} />;
    case "answer":
      return <AnswerView {...outcome} />;
    case "unreadable":
      return (
        <>
          <Fault>{t("unreadable", { reason: outcome.reason })}</Fault>
          <Words>{outcome.text === "" ? t("noAnswer") : outcome.text}</Words>
        </>
      );
    case "failed":
      return <Fault>{outcome.message}</Fault>;
    case "no_model":
      return <Fault>{t("noModel", { problem: outcome.problem })}</Fault>;
    case "cancelled":
      return <p className="text-sm text-quiet">{t("cancelled")}</p>;
  }
}

/** Time, tokens and cost of a side. */
function Figures({ side: { ms, outcome, inputTokens, outputTokens, usd } }: { readonly side: TrialSide }) {
  const t = useTranslations("admin.assistant.try");
  const format = useFormatter();
  const span = useMs();
  const dollars = useDollars();
  const number = (value: number | null) => (value === null ? t("unknown") : format.number(value));
  const isCounted = inputTokens !== null || outputTokens !== null;
  const figures = [
    span(ms),
    ...(isCounted ? [t("tokens", { input: number(inputTokens), output: number(outputTokens) })] : []),
    ...(outcome.type === "context" ? [] : [t("cost", { usd: usd === null ? t("unknown") : dollars(usd) })]),
  ];
  return <p className="tabular text-xs text-quiet">{figures.join(" · ")}</p>;
}

interface Props {
  readonly sides: readonly TrialSide[];
  readonly activeVersion: number;
}

/** What the active version and the tried one made of the sample, side by side. */
export function TrialSides({ sides, activeVersion }: Props) {
  const t = useTranslations("admin.assistant.try");
  const nameOf = (version: number | null) =>
    version === null
      ? t("sideDraft")
      : t(version === activeVersion ? "sideActive" : "sideVersion", { version });
  return (
    <div aria-label={t("sides")} role="group" className="flex flex-col gap-3">
      {sides.length === 1 ? <p className="text-xs text-quiet">{t("same")}</p> : null}
      <div className={cx("grid gap-x-6 gap-y-5", sides.length > 1 && "md:grid-cols-2")}>
        {sides.map((side) => (
          <section
            key={side.version}
            aria-label={nameOf(side.version)}
            className="flex min-w-0 flex-col gap-2 border-t border-line pt-3"
          >
            <div className="flex flex-wrap items-baseline justify-between gap-x-3">
              <h5 className="text-sm font-medium">{nameOf(side.version)}</h5>
              <Figures side={side} />
            </div>
            <OutcomeView outcome={side.outcome} other={sides.find((another) => another !== side)?.outcome} />
          </section>
        ))}
      </div>
    </div>
  );
}
