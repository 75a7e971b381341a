"use client";
import { Field as BaseField } from "@base-ui/react/field";
import type { ComponentProps } from "react";
import { inputStyle } from "./input-style.ts";

interface Props extends Omit<ComponentProps<typeof BaseField.Control>, "className" | "render" | "style"> {
  readonly label: string;
  readonly name: string;
  readonly hint?: string;
  readonly error?: string | null;
}

/** A labelled text input with its hint and its error. */
export function Field({ label, name, hint, error, ...control }: Props) {
  return (
    <BaseField.Root name={name} invalid={Boolean(error)} className="flex flex-col gap-1.5">
      <BaseField.Label className="text-xs font-medium">{label}</BaseField.Label>
      <BaseField.Control {...control} className={inputStyle} />
      {hint === undefined ? null : (
        <BaseField.Description className="text-xs text-quiet">{hint}</BaseField.Description>
      )}
      {error ? (
        <BaseField.Error match className="text-xs text-fail">
          {error}
        </BaseField.Error>
      ) : null}
    </BaseField.Root>
  );
}
