import { z } from "zod";
import { AppError } from "@atelier/server/platform";
import type { OutputFile } from "./comfy-server.ts";
import { executionFailure } from "./execution-failure.ts";
import type { HistoryEntry } from "./read-history.ts";

const fileSchema = z.object({
  filename: z.string().min(1),
  subfolder: z.string().default(""),
  type: z.enum(["input", "output", "temp"]),
});

/** Whether the prompt went well. */
export function hasSucceeded({ status }: HistoryEntry): boolean {
  return !status || status.status_str === "success";
}

/** The files that an ended prompt made, by node. Throws what the prompt failed with, `engine_interrupted` when stopped. */
export function outputsOf(entry: HistoryEntry): OutputFile[] {
  if (!hasSucceeded(entry)) throw failureOf(entry);
  return Object.entries(entry.outputs).flatMap(([nodeId, output]) =>
    Object.values(output).flatMap((value) => filesIn(value).map((file) => ({ nodeId, ...file }))),
  );
}

/** Nodes give pictures, films and sounds under names of their own, texts too. */
function filesIn(value: unknown): z.infer<typeof fileSchema>[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item: unknown) => {
    const parsed = fileSchema.safeParse(item);
    return parsed.success ? [parsed.data] : [];
  });
}

function failureOf({ status }: HistoryEntry): AppError {
  const messages = new Map(status?.messages);
  if (messages.has("execution_interrupted")) return new AppError("engine_interrupted");
  return executionFailure(messages.get("execution_error"));
}
