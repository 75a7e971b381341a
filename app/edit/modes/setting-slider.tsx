"use client";
import { type ReactNode, useRef } from "react";
import { Slider } from "../../ui/slider.tsx";

interface SettingSliderProps {
  readonly label: string;
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly step?: number;
  /** The value as shown. */
  readonly children: ReactNode;
  /** `isBegun` with the first change of a drag or of a key. */
  readonly onChange: (value: number, isBegun: boolean) => void;
}

/** A slider around 0; a double click, Backspace or Delete sets it back. */
export function SettingSlider({ label, children, onChange, ...range }: SettingSliderProps) {
  const isMoving = useRef(false);
  const reset = () => onChange(0, true);
  const move = (value: number) => {
    onChange(value, !isMoving.current);
    isMoving.current = true;
  };
  const settle = () => {
    isMoving.current = false;
  };
  return (
    <div
      onDoubleClick={reset}
      onKeyDown={(event) => {
        if (event.key === "Backspace" || event.key === "Delete") reset();
      }}
      role="presentation"
    >
      <div className="flex items-center justify-between text-xs">
        <span aria-hidden className="font-medium">
          {label}
        </span>
        <span aria-hidden className="tabular text-quiet">
          {children}
        </span>
      </div>
      <Slider label={label} origin={0} onChange={move} onSettled={settle} {...range} />
    </div>
  );
}
