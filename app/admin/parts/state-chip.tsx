import type { LucideIcon } from "lucide-react";
import { cx } from "../../ui/cx.ts";

export type Tone = "ok" | "warn" | "fail" | "info" | "quiet";

const tones: Record<Tone, string> = {
  ok: "text-ok",
  warn: "text-warn",
  fail: "text-fail",
  info: "text-info",
  quiet: "text-quiet",
};

interface Props {
  readonly icon: LucideIcon;
  readonly tone: Tone;
  readonly children: string;
  readonly spins?: boolean;
}

/** A state as a word with an icon; the colour only helps. */
export function StateChip({ icon: Icon, tone, children, spins = false }: Props) {
  return (
    <span
      className={cx(
        "inline-flex h-6 max-w-full items-center gap-1.5 rounded-full border border-line bg-surface px-2 text-xs font-medium whitespace-nowrap",
        tones[tone],
      )}
    >
      <Icon
        aria-hidden
        className={cx("size-3.5 shrink-0", spins && "animate-spin motion-reduce:animate-none")}
        strokeWidth={2}
      />
      <span className="truncate">{children}</span>
    </span>
  );
}
