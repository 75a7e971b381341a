"use client";
import { ArrowUp, Square } from "lucide-react";
import { useTranslations } from "next-intl";
import { type KeyboardEvent, useEffect, useEffectEvent, useRef, useState } from "react";
import { Button, Spinner } from "../ui/button.tsx";
import { useFirstText } from "../ui/hooks.ts";
import { AddPictures, type Given, GivenChips, useWhoSees } from "./given-pictures.tsx";
import { isOfInputMethod } from "../ui/typed.ts";

interface Answering {
  /** A question is on its way or being answered. */
  readonly isAnswering: boolean;
  /** The last answer ended in a failure: what waits for it stays in the field, for its author to decide. */
  readonly hasFailed: boolean;
}

/** A question that was entered while an answer is written: it is asked when that has ended, unless it was changed. */
function useWaiting(question: string, { isAnswering, hasFailed }: Answering, ask: () => void) {
  const [waiting, setWaiting] = useState<string | null>(null);
  const isOver = waiting !== null && (waiting !== question || (hasFailed && !isAnswering));
  if (isOver) setWaiting(null);
  const waits = waiting !== null && !isOver;
  const isDue = waits && !isAnswering;
  const onDue = useEffectEvent(ask);
  useEffect(() => {
    if (isDue) onDue();
  }, [isDue]);
  return { waits, wait: () => setWaiting(question), keep: () => setWaiting(null) };
}

const maxCharacters = 8_000;

interface ComposerProps extends Answering {
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly given: Given;
  readonly onAsk: () => void;
  /** Stops the answer that is being written; null without one. */
  readonly onStop: (() => void) | null;
  readonly isBusy: boolean;
  readonly mayAsk: boolean;
}

/** The field for a question. Enter asks, or lets the question wait for the answer before it; Shift and Enter begins a line. */
export function Composer({
  text,
  onText,
  given,
  onAsk,
  onStop,
  isBusy,
  isAnswering,
  hasFailed,
  mayAsk,
}: ComposerProps) {
  const t = useTranslations("assistant");
  const field = useRef<HTMLTextAreaElement>(null);
  useFirstText(field, text, onText);
  const whoSees = useWhoSees();
  const hasPictures = given.imageIds.length > 0;
  // Nor is it asked when its pictures would go to somebody else by then.
  const whole = JSON.stringify([text, given.imageIds, hasPictures ? whoSees : null]);
  const { waits, wait, keep } = useWaiting(whole, { isAnswering, hasFailed }, onAsk);
  // Not before the page has said who sees them.
  const mayGive = !hasPictures || whoSees !== null;
  const canAsk = mayAsk && mayGive && text.trim() !== "" && !given.isUploading;
  useEffect(() => field.current?.focus({ preventScroll: true }), []);
  const enter = () => {
    if (!canAsk) return;
    if (isAnswering) wait();
    else onAsk();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape" && waits) {
      // Not for the sheet around it, which would close.
      event.stopPropagation();
      keep();
    }
    if (event.key !== "Enter" || event.shiftKey || isOfInputMethod(event.nativeEvent)) return;
    event.preventDefault();
    enter();
  };
  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          enter();
        }}
        className="flex flex-col gap-1 rounded-card border border-edge/70 bg-surface p-2 transition-colors duration-120 focus-within:border-ink"
      >
        <GivenChips given={given} />
        <div className="flex items-end gap-1">
          {mayAsk ? <AddPictures given={given} /> : null}
          <textarea
            ref={field}
            aria-label={t("question")}
            placeholder={t("placeholder")}
            value={text}
            autoComplete="off"
            maxLength={maxCharacters}
            rows={1}
            disabled={!mayAsk}
            onChange={(event) => {
              keep();
              onText(event.target.value);
            }}
            onKeyDown={onKeyDown}
            className="field-sizing-content max-h-[30dvh] min-h-9 min-w-0 flex-1 resize-none bg-transparent px-2 py-1.5 outline-none placeholder:text-quiet"
          />
          {onStop === null ? (
            <Button
              type="submit"
              look="primary"
              disabled={!canAsk || isBusy}
              aria-label={t("ask")}
              className="px-2.5!"
            >
              {isBusy ? <Spinner /> : <ArrowUp aria-hidden />}
            </Button>
          ) : (
            <Button onClick={onStop} aria-label={t("stop")} className="px-2.5!">
              <Square aria-hidden />
            </Button>
          )}
        </div>
      </form>
      <p role="status" className="mt-2 text-center text-xs text-quiet">
        {waits ? t("waits") : hasPictures ? whoSees : t("mayErr")}
      </p>
    </>
  );
}
