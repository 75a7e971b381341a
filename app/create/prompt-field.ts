"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { type DragEvent, type KeyboardEvent, useRef } from "react";
import type { WrittenPrompt } from "@atelier/server/jobs";
import { api } from "../client/api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { keys } from "../client/queries.ts";
import { toastFailure, toastWithUndo } from "../ui/toasts.tsx";
import { createForm, type CreateForm, maxListCharacters } from "./form.ts";
import { escapeTemplate } from "./requests.ts";

/** Whether a file may hold prompts as text. */
function isPromptFile({ name, type }: Pick<File, "name" | "type">): boolean {
  return /\.(?:txt|csv)$/i.test(name) || type === "text/plain" || type === "text/csv";
}

const maxBytes = 2_000_000;

/** The prompts of a text file, one a line, or of a CSV file: its column `prompt`, else its first. */
export async function readPrompts(file: File): Promise<readonly string[]> {
  const text = (await file.slice(0, maxBytes).text()).replace(/^\uFEFF/, "");
  const isCsv = /\.csv$/i.test(file.name) || file.type === "text/csv";
  const prompts = isCsv ? csvPrompts(text) : text.split(/\r?\n/);
  return prompts.map((line) => line.replaceAll(/\s+/gu, " ").trim()).filter((line) => line !== "");
}

/** The cells of a CSV text (RFC 4180), with commas, semicolons or tabs between them. */
function rowsOf(text: string): string[][] {
  const [head = ""] = text.split(/\r?\n/, 1);
  const sign = ["\t", ";", ","].find((one) => head.includes(one)) ?? ",";
  const rows: string[][] = [[]];
  const cell = new RegExp(
    String.raw`(?:"((?:[^"]|"")*)"|([^"\r\n${sign}][^\r\n${sign}]*|))(${sign}|\r?\n|$)`,
    "gy",
  );
  while (cell.lastIndex < text.length) {
    const [whole, quoted, plain = "", end = ""] = cell.exec(text) ?? [];
    if (whole === undefined) break;
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end !== sign) rows.push([]);
  }
  return rows.filter((row) => row.some((one) => one.trim() !== ""));
}

function csvPrompts(text: string): readonly string[] {
  const [head = [], ...rows] = rowsOf(text);
  const column = head.findIndex((name) => /^(?:positive[ _]?)?prompt$/i.test(name.trim()));
  return (column < 0 ? [head, ...rows] : rows).map((row) => row[Math.max(0, column)] ?? "");
}

/** Says that a prompt has gone, and brings it back. */
export function useReplacedToast() {
  const t = useTranslations("create");
  return (former: Partial<CreateForm>) =>
    toastWithUndo({ title: t("replaced"), undoLabel: t("undo"), onUndo: () => createForm.set(former) });
}

/** Takes text files that are dropped on the prompt; pictures go on to the page. */
export function usePromptFiles() {
  const t = useTranslations("create");
  const sayReplaced = useReplacedToast();
  const take = async (files: readonly File[]) => {
    const read = await Promise.all(files.map(readPrompts)).catch(() => null);
    const prompts = read?.flat() ?? [];
    if (prompts.length === 0) return toastFailure(t("noPrompts"));
    const { mode, prompt } = createForm.get();
    const before = mode === "list" && prompt.trim() !== "" ? [prompt.trimEnd()] : [];
    createForm.set({ mode: "list", prompt: [...before, ...prompts].join("\n").slice(0, maxListCharacters) });
    if (mode !== "list" && prompt.trim() !== "") sayReplaced({ mode, prompt });
  };
  const drop = (event: DragEvent) => {
    const files = [...event.dataTransfer.files];
    if (files.length === 0 || !files.every(isPromptFile)) return;
    event.preventDefault();
    void take(files);
  };
  const choose = () => {
    const input = document.createElement("input");
    input.type = "file";
    input.accept = ".txt,.csv,text/plain,text/csv";
    input.multiple = true;
    input.addEventListener("change", () => void take([...(input.files ?? [])]), { once: true });
    input.click();
  };
  return { drop, choose };
}

/** Text is put where the cursor was last. */
export function useInsert() {
  const field = useRef<HTMLTextAreaElement>(null);
  const insert = (text: string) => {
    const { prompt } = createForm.get();
    const [from, to] = [field.current?.selectionStart, field.current?.selectionEnd];
    const [start, end] = [from ?? prompt.length, to ?? prompt.length];
    createForm.set({ prompt: `${prompt.slice(0, start)}${text}${prompt.slice(end)}` });
    // React writes the value first, and the browser moves the cursor to its end.
    requestAnimationFrame(() => field.current?.setSelectionRange(start + text.length, start + text.length));
  };
  return { field, insert };
}

const historyKey = {
  queryKey: keys.promptHistory,
  queryFn: () => api.jobs.prompts.query(),
  staleTime: 10_000,
};

type Texts = Pick<CreateForm, "prompt" | "negativePrompt">;

const isSame = (one: Texts | null, { prompt, negativePrompt }: Texts) =>
  one?.prompt === prompt && one.negativePrompt === negativePrompt;

/** Steps through what one made pictures from, back to what was being written. */
export function usePromptHistory() {
  const queries = useQueryClient();
  const showFailure = useFailureToast();
  const sayReplaced = useReplacedToast();
  const place = useRef<{ readonly at: number; readonly own: Texts }>(null);
  const shown = useRef<Texts>(null);
  /** Gives what was being written, where this step left it. */
  const step = async (by: 1 | -1): Promise<Texts | null> => {
    const { prompt, negativePrompt } = createForm.get();
    // Text typed since then is no longer an earlier prompt, and the way through them begins again.
    if (place.current === null || !isSame(shown.current, { prompt, negativePrompt }))
      place.current = { at: -1, own: { prompt, negativePrompt } };
    const { own, at: before } = place.current;
    const { items } = await queries.fetchQuery(historyKey);
    // What was written meanwhile stays.
    if (!isSame(createForm.get(), { prompt, negativePrompt })) return null;
    const written = items.map((one) => (one.isTemplate ? one : escaped(one)));
    let at = before + by;
    // What stands in the field is no step.
    while (written[at]?.prompt === prompt && at + by < written.length && at + by >= -1) at += by;
    at = Math.max(-1, Math.min(written.length - 1, at));
    const next = written[at] ?? own;
    place.current = { at, own };
    shown.current = { prompt: next.prompt, negativePrompt: next.negativePrompt };
    createForm.set(shown.current);
    return before < 0 && !isSame(own, next) ? own : null;
  };
  const press = (event: KeyboardEvent) => {
    const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!event.altKey || (by !== 1 && by !== -1)) return;
    event.preventDefault();
    void step(by).catch(showFailure);
  };
  // The keys lead back to what was being written; a click does not.
  const stepBack = async () => {
    const left = await step(1);
    if (left !== null && `${left.prompt}${left.negativePrompt}`.trim() !== "") sayReplaced(left);
  };
  return { press, back: () => void stepBack().catch(showFailure) };
}

const escaped = ({ prompt, negativePrompt }: WrittenPrompt) => ({
  prompt: escapeTemplate(prompt),
  negativePrompt: escapeTemplate(negativePrompt),
});
