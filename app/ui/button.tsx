"use client";
import { ArrowDown, ArrowLeft, ArrowRight, ArrowUp, LoaderCircle } from "lucide-react";
import type { ComponentProps, EventHandler, ReactNode, SyntheticEvent } from "react";
import { type Side, useTooltip } from "./tooltip.tsx";

/** Joins class names; false, null and undefined are left out. */
export function cx(...names: readonly (string | false | null | undefined)[]): string {
  return names.filter(Boolean).join(" ");
}

/** Class names of a text field, for those that are no `Field`. */
export const inputStyle =
  "h-10 w-full pointer-coarse:min-h-11 rounded-control border border-edge bg-surface px-3 text-sm text-ink placeholder:text-quiet transition-colors duration-120 hover:border-quiet focus-visible:outline-2 focus-visible:-outline-offset-1 focus-visible:outline-ink aria-invalid:border-fail";

type ButtonLook = "primary" | "plain" | "quiet" | "danger";
type ButtonSize = "small" | "medium" | "large";

const base =
  "touch inline-flex shrink-0 items-center justify-center gap-2 rounded-control font-medium whitespace-nowrap select-none transition-colors duration-120 [&_svg]:size-4 [&_svg]:shrink-0";

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

/** Class names of a button, also for links that look like buttons. */
export function buttonStyle(look: ButtonLook = "plain", size: ButtonSize = "medium"): string {
  return cx(base, looks[look], sizes[size]);
}

/** Drawn, since a font may lack the arrows. */
const names: Record<string, ReactNode> = {
  Control: "Ctrl",
  ArrowLeft: <ArrowLeft className="size-3" />,
  ArrowRight: <ArrowRight className="size-3" />,
  ArrowUp: <ArrowUp className="size-3" />,
  ArrowDown: <ArrowDown className="size-3" />,
  Escape: "Esc",
  Delete: "Del",
};

interface KbdProps {
  /** In the notation of `aria-keyshortcuts`: `Control+Enter`, `g s`. */
  readonly keys: string;
  readonly ground?: keyof typeof grounds;
}

const grounds = {
  paper: "border-line text-quiet",
  ink: "border-paper/35 text-paper",
  button: "border-current/40",
};

export function Kbd({ keys, ground = "paper" }: KbdProps) {
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

interface IconButtonProps extends Omit<ComponentProps<"button">, "children"> {
  /** The accessible name, shown as a tooltip. */
  readonly label: string;
  readonly keys?: string;
  readonly pressed?: boolean;
  readonly side?: Side;
  readonly children?: ReactNode;
}

const style =
  "touch inline-flex size-9 shrink-0 items-center justify-center rounded-control text-quiet transition-colors duration-120 hover:bg-hover hover:text-ink disabled:opacity-45 aria-pressed:bg-hover aria-pressed:text-ink [&_svg]:size-[18px]";

/** Both handlers of an event, the own one of a button first. */
function both<Event extends SyntheticEvent>(own: EventHandler<Event> | undefined, more: EventHandler<Event>) {
  return (event: Event) => {
    own?.(event);
    more(event);
  };
}

/** A button with an icon only; a tooltip shows its name. */
export function IconButton({
  label,
  keys,
  pressed,
  side = "bottom",
  className,
  children,
  ...rest
}: IconButtonProps) {
  const { triggers, tooltip } = useTooltip(
    side,
    <>
      {label}
      {keys === undefined ? null : <Kbd keys={keys} ground="ink" />}
    </>,
  );
  return (
    <>
      <button
        {...rest}
        onPointerEnter={both(rest.onPointerEnter, triggers.onPointerEnter)}
        onPointerLeave={both(rest.onPointerLeave, triggers.onPointerLeave)}
        onPointerDown={both(rest.onPointerDown, triggers.onPointerDown)}
        onFocus={both(rest.onFocus, triggers.onFocus)}
        onBlur={both(rest.onBlur, triggers.onBlur)}
        type="button"
        aria-label={label}
        aria-pressed={pressed}
        aria-keyshortcuts={keys}
        className={cx(style, className)}
      >
        {children}
      </button>
      {tooltip}
    </>
  );
}

export function Spinner({ className = "size-4" }: { readonly className?: string }) {
  return <LoaderCircle aria-hidden className={`animate-spin motion-reduce:animate-none ${className}`} />;
}

interface ButtonProps extends ComponentProps<"button"> {
  readonly look?: ButtonLook;
  readonly size?: ButtonSize;
}

export function Button({ look, size, className, type = "button", ...rest }: ButtonProps) {
  return <button {...rest} type={type} className={cx(buttonStyle(look, size), className)} />;
}
