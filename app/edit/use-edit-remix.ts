"use client";
import { useSearchParams } from "next/navigation";
import { useRemixJob } from "../data/use-remix-job.ts";

export interface EditStart {
  /** Another start is another form. */
  readonly key: string;
  readonly repaint: string;
  readonly change: { readonly words: string; readonly referenceId: string | null };
}

/** What the forms of the editor begin with: the words and the reference of the picture that the address names. */
export function useEditRemix(): EditStart {
  const imageId = useSearchParams().get("remix");
  const { job } = useRemixJob(imageId);
  const prompt = typeof job?.params.prompt === "string" ? job.params.prompt : "";
  const reference = job?.inputs.find(({ role }) => role === "reference")?.imageId ?? null;
  return {
    key: job?.id ?? "new",
    repaint: job?.kind === "inpaint" ? prompt : "",
    change: { words: job?.kind === "edit" ? prompt : "", referenceId: reference },
  };
}
