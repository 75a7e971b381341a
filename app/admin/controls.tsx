"use client";
import { useTranslations } from "next-intl";
import { type KeyboardEvent, type ReactNode, useRef, useState } from "react";
import { Button } from "../ui/button.tsx";
import { Spinner } from "../ui/spinner.tsx";

interface Props {
  /** The accessible name of the button: the verb with its object. */
  readonly label: string;
  /** What follows from it; asked in place, before it is done. */
  readonly question: string;
  readonly confirm: string;
  readonly isPending: boolean;
  readonly onConfirm: () => void;
  readonly children: ReactNode;
}

/** A button that asks where it stands; Escape or "No" takes it back. */
export function ConfirmButton({ label, question, confirm, isPending, onConfirm, children }: Props) {
  const t = useTranslations("admin.confirm");
  const [asks, setAsks] = useState(false);
  const opener = useRef<HTMLButtonElement>(null);
  const close = () => {
    setAsks(false);
    requestAnimationFrame(() => opener.current?.focus());
  };
  const closeByKey = (event: KeyboardEvent) => event.key === "Escape" && close();
  if (!asks) {
    return (
      <Button ref={opener} size="small" aria-label={label} disabled={isPending} onClick={() => setAsks(true)}>
        {isPending ? <Spinner /> : null}
        {children}
      </Button>
    );
  }
  return (
    <div role="group" aria-label={label} className="flex flex-wrap items-center justify-end gap-2">
      <span className="text-xs text-quiet">{question}</span>
      <Button size="small" onClick={close} onKeyDown={closeByKey}>
        {t("keep")}
      </Button>
      <Button
        size="small"
        look="danger"
        // oxlint-disable-next-line jsx-a11y/no-autofocus -- the question stands where the button with the focus was
        autoFocus
        onKeyDown={closeByKey}
        onClick={() => {
          close();
          onConfirm();
        }}
      >
        {confirm}
      </Button>
    </div>
  );
}
