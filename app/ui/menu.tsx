"use client";
import { Menu as Base } from "@base-ui/react/menu";
import type { ReactElement, ReactNode } from "react";
import { cx } from "./cx.ts";

interface MenuProps {
  readonly trigger: ReactElement;
  readonly children: ReactNode;
  readonly side?: "top" | "bottom";
  readonly align?: "start" | "end";
}

export function Menu({ trigger, children, side = "bottom", align = "start" }: MenuProps) {
  return (
    <Base.Root>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner side={side} align={align} sideOffset={6} className="z-60">
          <Base.Popup className="min-w-48 rounded-card bg-raised p-1 shadow-float outline-none transition-opacity duration-120 data-ending-style:opacity-0 data-starting-style:opacity-0">
            {children}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

interface ItemProps {
  readonly onSelect: () => void;
  readonly disabled?: boolean;
  readonly checked?: boolean;
  readonly children: ReactNode;
}

export function MenuItem({ onSelect, disabled, checked, children }: ItemProps) {
  return (
    <Base.Item
      onClick={onSelect}
      disabled={disabled}
      className={cx(
        "flex min-h-9 cursor-pointer py-1.5 items-center gap-2.5 rounded-control px-2.5 text-sm outline-none select-none data-disabled:cursor-default data-disabled:opacity-45 data-highlighted:bg-hover [&_svg]:size-4 [&_svg]:text-quiet",
        checked && "font-medium",
      )}
    >
      {children}
    </Base.Item>
  );
}
