import { cx } from "./cx.ts";

const names: Record<string, string> = {
  Control: "Ctrl",
  ArrowLeft: "←",
  ArrowRight: "→",
  Escape: "Esc",
  Delete: "Del",
};

interface Props {
  /** In the notation of `aria-keyshortcuts`: `Control+Enter`, `g s`. */
  readonly keys: string;
  readonly ground?: keyof typeof grounds;
}

const grounds = {
  paper: "border-line text-quiet",
  ink: "border-paper/35 text-paper",
  button: "border-current/40",
};

export function Kbd({ keys, ground = "paper" }: Props) {
  return (
    <kbd aria-hidden className="inline-flex items-center gap-1 font-sans">
      {keys.split(/(?<=.)[+ ](?=.)/).map((key, index) => (
        <span
          key={`${key}-${index}`}
          className={cx(
            "inline-flex h-[18px] min-w-[18px] items-center justify-center rounded-[4px] border px-1 text-[11px] leading-none font-medium",
            grounds[ground],
          )}
        >
          {names[key] ?? key}
        </span>
      ))}
    </kbd>
  );
}
