import { cx } from "./cx.ts";

export type ButtonLook = "primary" | "plain" | "quiet" | "danger";
export type ButtonSize = "small" | "medium" | "large";

const base =
  "inline-flex shrink-0 items-center justify-center gap-2 rounded-control font-medium whitespace-nowrap select-none transition-colors duration-120 [&_svg]:size-4 [&_svg]:shrink-0";

const looks: Record<ButtonLook, string> = {
  primary: "bg-accent text-on-accent enabled:hover:bg-accent-hover disabled:bg-hover disabled:text-quiet",
  plain:
    "border border-edge/70 bg-surface text-ink hover:bg-hover disabled:opacity-45 disabled:hover:bg-surface",
  quiet: "text-ink hover:bg-hover disabled:opacity-45 disabled:hover:bg-transparent",
  danger: "border border-edge/70 bg-surface text-fail hover:bg-hover disabled:opacity-45",
};

const sizes: Record<ButtonSize, string> = {
  small: "h-8 px-2.5 text-xs",
  medium: "h-9 px-3.5 text-sm",
  large: "h-11 px-5 text-sm",
};

/** Class names of a button, for links that look like one too. */
export function buttonStyle(look: ButtonLook = "plain", size: ButtonSize = "medium"): string {
  return cx(base, looks[look], sizes[size]);
}
