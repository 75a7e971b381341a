"use client";
import { ArrowUp, Square } from "lucide-react";
import { useTranslations } from "next-intl";
import { type KeyboardEvent, useEffect, useRef } from "react";
import { Button, Spinner } from "../ui/button.tsx";

const maxCharacters = 8_000;

interface Props {
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly onAsk: () => void;
  /** Stops the answer that is being written; null without one. */
  readonly onStop: (() => void) | null;
  readonly isBusy: boolean;
  readonly mayAsk: boolean;
}

/** The field for a question. Enter asks, Shift and Enter begins a line. */
export function Composer({ text, onText, onAsk, onStop, isBusy, mayAsk }: Props) {
  const t = useTranslations("assistant");
  const field = useRef<HTMLTextAreaElement>(null);
  const canAsk = mayAsk && !isBusy && onStop === null && text.trim() !== "";
  useEffect(() => field.current?.focus({ preventScroll: true }), []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    if (canAsk) onAsk();
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (canAsk) onAsk();
      }}
      className="flex items-end gap-2 rounded-card border border-edge/70 bg-surface p-2 transition-colors duration-120 focus-within:border-ink"
    >
      <textarea
        ref={field}
        aria-label={t("question")}
        placeholder={t("placeholder")}
        value={text}
        maxLength={maxCharacters}
        rows={1}
        disabled={!mayAsk}
        onChange={(event) => onText(event.target.value)}
        onKeyDown={onKeyDown}
        className="field-sizing-content max-h-[30dvh] min-h-9 min-w-0 flex-1 resize-none bg-transparent px-2 py-1.5 outline-none placeholder:text-quiet"
      />
      {onStop === null ? (
        <Button type="submit" look="primary" disabled={!canAsk} aria-label={t("ask")} className="px-2.5!">
          {isBusy ? <Spinner /> : <ArrowUp aria-hidden />}
        </Button>
      ) : (
        <Button onClick={onStop} aria-label={t("stop")} className="px-2.5!">
          <Square aria-hidden />
        </Button>
      )}
    </form>
  );
}
