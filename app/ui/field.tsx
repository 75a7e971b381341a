"use client";
import { Field as Base } from "@base-ui/react/field";
import type { ComponentProps } from "react";
import { inputStyle } from "./input-style.ts";

interface Props extends Omit<ComponentProps<typeof Base.Control>, "className" | "render" | "style"> {
  readonly label: string;
  readonly name: string;
  readonly hint?: string;
  readonly error?: string | null;
}

/** A labelled text input with its hint and its error. */
export function Field({ label, name, hint, error, ...control }: Props) {
  return (
    <Base.Root name={name} invalid={Boolean(error)} className="flex flex-col gap-1.5">
      <Base.Label className="text-xs font-medium">{label}</Base.Label>
      <Base.Control {...control} className={inputStyle} />
      {hint === undefined ? null : <Base.Description className="text-xs text-quiet">{hint}</Base.Description>}
      {error ? (
        <Base.Error match className="text-xs text-fail">
          {error}
        </Base.Error>
      ) : null}
    </Base.Root>
  );
}
