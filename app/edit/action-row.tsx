"use client";
import type { ReactNode } from "react";
import type { ImageView } from "@atelier/server/images";
import type { OfferedWorkflow } from "../client/queries.ts";
import type { Mark } from "./mask.ts";

/** Props of every action in the panel. */
export interface ActionProps {
  readonly image: ImageView;
  /** A job of this editor session runs. */
  readonly isBusy: boolean;
  /** `spent` are the marks that the job used. */
  readonly onJob: (jobId: string, spent?: readonly Mark[]) => void;
}

interface ActionRowProps {
  /** What the action does, or why it is not available. */
  readonly hint: string | null;
  readonly children: ReactNode;
}

export function ActionRow({ hint, children }: ActionRowProps) {
  return (
    <div className="flex flex-col gap-1.5 [&>button]:w-full">
      {children}
      {hint === null ? null : <p className="tabular text-xs text-quiet">{hint}</p>}
    </div>
  );
}

interface PromptFieldProps {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

const maxCharacters = 2_000;

export function PromptField({ label, hint, value, onChange }: PromptFieldProps) {
  return (
    <textarea
      aria-label={label}
      placeholder={hint}
      value={value}
      rows={2}
      maxLength={maxCharacters}
      onChange={(event) => onChange(event.target.value)}
      className="field-sizing-content max-h-40 min-h-15 w-full resize-none rounded-control border border-edge bg-surface px-3 py-2 text-sm placeholder:text-quiet hover:border-quiet"
    />
  );
}

/** The best live workflow that takes a prompt and exactly these pictures. */
export function findForPrompt(
  workflows: readonly OfferedWorkflow[] | undefined,
  roles: readonly string[],
): OfferedWorkflow | undefined {
  return workflows?.find(
    ({ isLive, params, inputs }) =>
      isLive &&
      params.prompt !== undefined &&
      roles.every((role) => inputs.some((input) => input.role === role)) &&
      inputs.every(({ role, required }) => !required || roles.includes(role)),
  );
}

/** Where a picture would go and what that costs; null for own machines. */
export function placeOf({ cloud, title, description }: OfferedWorkflow): string | null {
  return cloud === null ? null : `${title}. ${description}`;
}

/** The best live workflow that upscales by this factor. */
export function findForScale(
  workflows: readonly OfferedWorkflow[] | undefined,
  scale: number,
): OfferedWorkflow | undefined {
  return workflows?.find(({ isLive, params }) => {
    const choices = params.scale?.choices;
    return isLive && choices !== undefined && String(scale) in choices;
  });
}
