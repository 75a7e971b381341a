"use client";
import { Menu as BaseMenu } from "@base-ui/react/menu";
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
    <BaseMenu.Root>
      <BaseMenu.Trigger render={trigger} />
      <BaseMenu.Portal>
        <BaseMenu.Positioner side={side} align={align} sideOffset={6} className="z-60">
          <BaseMenu.Popup className="min-w-48 rounded-card bg-raised p-1 shadow-float outline-none transition-opacity duration-120 data-ending-style:opacity-0 data-starting-style:opacity-0">
            {children}
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
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
    <BaseMenu.Item
      onClick={onSelect}
      disabled={disabled}
      className={cx(
        "flex min-h-9 cursor-pointer py-1.5 items-center gap-2.5 rounded-control px-2.5 text-sm outline-none select-none data-disabled:cursor-default data-disabled:opacity-45 data-highlighted:bg-hover [&_svg]:size-4 [&_svg]:text-quiet",
        checked && "font-medium",
      )}
    >
      {children}
    </BaseMenu.Item>
  );
}
