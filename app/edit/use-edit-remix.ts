"use client";
import type { JobView } from "@atelier/server/jobs";
import { useSearchParams } from "next/navigation";
import { useRemixJob } from "../data/use-remix-job.ts";

export interface EditStart {
  /** Another start is another form. */
  readonly key: string;
  readonly repaint: string;
  /** How many times larger. */
  readonly scale: 2 | 4;
  readonly change: { readonly words: string; readonly referenceId: string | null };
}

const nothing: EditStart = {
  key: "new",
  scale: 2,
  repaint: "",
  change: { words: "", referenceId: null },
};

function startOf({
  id,
  kind,
  params,
  inputs,
}: Pick<JobView, "id" | "kind" | "params" | "inputs">): EditStart {
  const prompt = typeof params.prompt === "string" ? params.prompt : "";
  const reference = inputs.find(({ role }) => role === "reference")?.imageId ?? null;
  return {
    key: id,
    scale: kind === "upscale" && params.scale === 4 ? 4 : 2,
    repaint: kind === "inpaint" ? prompt : "",
    change: { words: kind === "edit" ? prompt : "", referenceId: reference },
  };
}

/** What the forms of the editor begin with: the words and the reference of the picture that the address names. */
export function useEditRemix(): EditStart {
  const imageId = useSearchParams().get("remix");
  const { job } = useRemixJob(imageId);
  return job === undefined ? nothing : startOf(job);
}
