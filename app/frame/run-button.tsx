"use client";
import type { ReactNode } from "react";
import { Button } from "../ui/button.tsx";
import { Kbd } from "../ui/kbd.tsx";
import { Spinner } from "../ui/spinner.tsx";
import { useRunKey } from "./shortcuts/use-run-key.ts";

interface Props {
  readonly canRun: boolean;
  readonly isBusy: boolean;
  readonly onRun: () => void;
  readonly className?: string;
  readonly children: ReactNode;
}

/** What a page is there to start, by a click or by Ctrl+Enter. */
export function RunButton({ canRun, isBusy, onRun, className, children }: Props) {
  const canStart = canRun && !isBusy;
  useRunKey(canStart, onRun);
  return (
    <Button
      look="primary"
      size="large"
      disabled={!canStart}
      onClick={onRun}
      aria-keyshortcuts="Control+Enter"
      className={className}
    >
      {isBusy ? <Spinner /> : null}
      {children}
      {isBusy ? null : (
        <span className="hidden sm:pointer-fine:inline">
          <Kbd keys="Control+Enter" ground="button" />
        </span>
      )}
    </Button>
  );
}
