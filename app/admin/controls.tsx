"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { failureOf, useFailureToast } from "../ui/failures.ts";
import { useSearchFilter } from "../parts/filters.tsx";
import { Button, cx, Spinner, inputStyle } from "../ui/button.tsx";
import { toastFailure } from "../ui/toasts.tsx";
import { useInPhrase } from "./parts.tsx";

interface SelectFilterProps {
  /** Name of the query parameter in the URL. */
  readonly name: string;
  readonly label: string;
  readonly options: readonly { readonly value: string; readonly label: string }[];
}

/** A filter with few values, stored in the URL. */
export function SelectFilter({ name, label, options }: SelectFilterProps) {
  const t = useTranslations("admin.jobs");
  const inPhrase = useInPhrase();
  const { params, set } = useSearchFilter();
  const value = params.get(name) ?? "";
  const isKnown = value === "" || options.some((option) => option.value === value);
  return (
    <select
      aria-label={label}
      value={value}
      onChange={(event) => set(name, event.target.value)}
      className={cx(inputStyle, "h-9! w-full px-2!", value === "" ? "text-quiet!" : "border-ink!")}
    >
      <option value="">{`${label}: ${inPhrase(t("any"))}`}</option>
      {isKnown ? null : <option value={value}>{value}</option>}
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
    </select>
  );
}

/** Scrolls to the element of the URL's `#` fragment; it may be rendered after the page loaded, or inside a closed `details`. */
export function useAddressTarget(): void {
  useEffect(() => {
    const target = document.getElementById(decodeURIComponent(window.location.hash.slice(1)));
    if (target === null) return;
    target.closest("details")?.setAttribute("open", "");
    target.scrollIntoView();
    target.focus({ preventScroll: true });
  }, []);
}

/** The server refuses an act on what changed, and on what must stay; its message says which. */
function useRefusalToast(): (error: unknown) => void {
  const t = useTranslations("admin");
  const onError = useFailureToast();
  return (error) => {
    const { code, message } = failureOf(error);
    if (code === "conflict" && message !== "") toastFailure(t("refused"), message);
    else onError(error);
  };
}

/** A mutation of an admin; afterwards all admin queries are fetched again. */
export function useAdminAction<Input = void>(act: (input: Input) => Promise<unknown>) {
  const queries = useQueryClient();
  const onError = useRefusalToast();
  return useMutation({
    mutationFn: act,
    onError,
    onSettled: () => queries.invalidateQueries({ queryKey: ["admin"] }),
  });
}

interface ConfirmButtonProps {
  /** The accessible name of the button: the verb with its object. */
  readonly label: string;
  /** The consequence of the action, shown with the question. */
  readonly question: string;
  readonly confirm: string;
  readonly isPending: boolean;
  readonly onConfirm: () => void;
  readonly children: ReactNode;
}

/** A button that asks for confirmation in place; Escape or "No" cancels. */
export function ConfirmButton({
  label,
  question,
  confirm,
  isPending,
  onConfirm,
  children,
}: ConfirmButtonProps) {
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
        // oxlint-disable-next-line jsx-a11y/no-autofocus -- the question replaces the focused button
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
