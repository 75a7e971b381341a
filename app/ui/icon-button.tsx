"use client";
import { Tooltip } from "@base-ui/react/tooltip";
import type { ComponentProps, ReactNode } from "react";
import { cx } from "./cx.ts";
import { Kbd } from "./kbd.tsx";

interface Props extends Omit<ComponentProps<"button">, "children"> {
  /** The accessible name, shown as a tooltip. */
  readonly label: string;
  readonly keys?: string;
  readonly pressed?: boolean;
  readonly side?: "top" | "bottom" | "left" | "right";
  readonly children?: ReactNode;
}

const style =
  "inline-flex size-9 shrink-0 items-center justify-center rounded-control text-quiet transition-colors duration-120 hover:bg-hover hover:text-ink disabled:opacity-45 aria-pressed:bg-hover aria-pressed:text-ink [&_svg]:size-[18px]";

/** A button that shows an icon alone; its name stands in a tooltip. */
export function IconButton({ label, keys, pressed, side = "bottom", className, children, ...rest }: Props) {
  return (
    <Tooltip.Root>
      <Tooltip.Trigger
        {...rest}
        type="button"
        aria-label={label}
        aria-pressed={pressed}
        aria-keyshortcuts={keys}
        className={cx(style, className)}
      >
        {children}
      </Tooltip.Trigger>
      <Tooltip.Portal>
        <Tooltip.Positioner side={side} sideOffset={6} className="z-70">
          <Tooltip.Popup className="flex items-center gap-2 rounded-control bg-ink px-2 py-1 text-xs text-paper transition-opacity duration-120 data-ending-style:opacity-0 data-starting-style:opacity-0">
            {label}
            {keys === undefined ? null : <Kbd keys={keys} ground="ink" />}
          </Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}
