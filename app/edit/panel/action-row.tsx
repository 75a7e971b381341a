import type { ImageView } from "@atelier/server/images";
import type { ReactNode } from "react";
import type { Stroke } from "../mask/stroke.ts";

/** What every action of the panel gets. */
export interface ActionProps {
  readonly image: ImageView;
  /** Another job of this session runs. */
  readonly isBusy: boolean;
  /** `spent` are the marks that went with it. */
  readonly onJob: (jobId: string, spent?: readonly Stroke[]) => void;
}

interface Props {
  /** What it does, or why it cannot be done. */
  readonly hint: string | null;
  readonly children: ReactNode;
}

export function ActionRow({ hint, children }: Props) {
  return (
    <div className="flex flex-col gap-1.5 [&>button]:w-full">
      {children}
      {hint === null ? null : <p className="tabular text-xs text-quiet">{hint}</p>}
    </div>
  );
}
