import { buffer } from "node:stream/consumers";
import sharp, { type OverlayOptions } from "sharp";
import type { BatchAxis } from "../db/index.ts";
import { openFile } from "../images/index.ts";
import { isAppError } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { type Box, openLabels, writable } from "./labels.ts";
import { type BatchAddress, type BatchPlace, type BatchWithJobs, getBatch } from "./read.ts";

const gapPx = 8;
/** Two lines of a label, and one below a cell. */
const headPx = 34;
const captionPx = 18;
/** A longer row would be a strip that no screen shows. */
const maxColumns = 24;
/** The sheet's paper and an empty cell. */
const paper = { r: 250, g: 249, b: 245 };
const well = { r: 236, g: 233, b: 226 };

/** Where the cells of a sheet stand. */
interface Layout {
  readonly cellPx: number;
  readonly columns: number;
  readonly rows: number;
  /** Of a table with two axes or more: the space for the values of its rows and columns; else 0. */
  readonly leftPx: number;
  readonly topPx: number;
  /** Below each cell where there is no table. */
  readonly captionPx: number;
}

function layOut({ axes, jobs }: BatchWithJobs, cellPx: number): Layout {
  const last = axes?.at(-1);
  const isWide = last !== undefined && last.values.length <= maxColumns;
  const columns = isWide ? last.values.length : Math.ceil(Math.sqrt(jobs.length));
  const cells = { cellPx, columns, rows: Math.ceil(jobs.length / columns) };
  if (!isWide || axes === null || axes.length < 2) return { ...cells, leftPx: 0, topPx: 0, captionPx };
  const picturePx = Math.round(cellPx / 2);
  const topPx = isPicture(last) ? picturePx : headPx;
  return { ...cells, leftPx: picturePx + gapPx, topPx: topPx + gapPx, captionPx: 0 };
}

const isPicture = ({ param }: Pick<BatchAxis, "param">) => /(?:^|\.)inputs\./.test(param);

interface At {
  readonly left: number;
  readonly top: number;
}

function cellAt({ cellPx, columns, leftPx, topPx, captionPx: below }: Layout, position: number): At {
  return {
    left: gapPx + leftPx + (position % columns) * (cellPx + gapPx),
    top: gapPx + topPx + Math.floor(position / columns) * (cellPx + below + gapPx),
  };
}

/**
 * A PNG with the first result of each place in the order of the batch: one row for each value of the axes before the last
 * one, with the values beside and above, or about as many rows as columns for a list or a long axis, with the words below
 * each. What is not there is an empty cell. Throws `not_found`.
 */
export async function makeContactSheet(
  services: Services,
  { cellPx, ...address }: BatchAddress & { readonly cellPx: number },
): Promise<Buffer> {
  const batch = await getBatch(services, address);
  const layout = layOut(batch, cellPx);
  const read = (imageId: string, sidePx: number) =>
    readPicture(services, { ownerId: address.ownerId, imageId, sidePx });
  const overlays: OverlayOptions[] = [];
  // One after another: a sheet holds small pictures only.
  for (const { position, job } of batch.jobs) {
    const imageId = job?.outputs[0]?.imageId;
    const cell = imageId === undefined ? null : await read(imageId, cellPx);
    overlays.push({
      input: cell ?? { create: { width: cellPx, height: cellPx, channels: 3, background: well } },
      ...cellAt(layout, position),
    });
  }
  const { columns, rows, leftPx, topPx, captionPx: below } = layout;
  const size = {
    width: gapPx + leftPx + columns * (cellPx + gapPx),
    height: gapPx + topPx + rows * (cellPx + below + gapPx),
  };
  return sharp({ create: { ...size, channels: 3, background: paper } })
    .composite([...overlays, ...(await drawLabels(services, labelsOf(batch, layout), read))])
    .png()
    .toBuffer();
}

/** A word or a picture that says what stands beside it. */
interface Label extends At, Box {
  readonly text: string;
  readonly imageId: string | null;
}

function labelsOf(batch: BatchWithJobs, layout: Layout): readonly Label[] {
  const { cellPx, columns, leftPx, topPx } = layout;
  if (topPx === 0)
    return batch.jobs.map((place) => {
      const { left, top } = cellAt(layout, place.position);
      const text = captionOf(place);
      return { left, top: top + cellPx + 2, widthPx: cellPx, heightPx: captionPx, text, imageId: null };
    });
  const axes = batch.axes ?? [];
  const valueOf = (axis: Pick<BatchAxis, "param">, position: number) =>
    batch.jobs[position]?.values[axis.param] ?? "";
  const label = (axis: Pick<BatchAxis, "param">, position: number) => {
    const value = valueOf(axis, position);
    return isPicture(axis)
      ? { text: "", imageId: String(value) }
      : { text: textOf(axis.param, value), imageId: null };
  };
  const ofColumns = axes.slice(-1).flatMap((axis) =>
    Array.from({ length: columns }, (_, at) => {
      const shown = [axis, ...(axis.along ?? []).filter((one) => isPicture(one) && valueOf(one, at) !== "")];
      const widthPx = Math.floor(cellPx / shown.length);
      return shown.map((one, nth) => ({
        ...label(one, at),
        left: cellAt(layout, at).left + nth * widthPx,
        top: gapPx,
        widthPx,
        heightPx: topPx - gapPx,
      }));
    }).flat(),
  );
  const before = axes.slice(0, -1);
  const ofRows = Array.from({ length: layout.rows }, (_, row) =>
    before.map((axis, at) => ({
      ...label(axis, row * columns),
      left: gapPx,
      top: cellAt(layout, row * columns).top + Math.round((at * cellPx) / before.length),
      widthPx: leftPx - gapPx,
      heightPx: Math.round(cellPx / before.length) - 2,
    })),
  );
  return [...ofColumns, ...ofRows.flat()];
}

/** Param names are words in one: `negativePrompt`. */
const wordsOf = (name: string) => name.replaceAll(/(?=[A-Z])/g, " ").toLowerCase();
const textOf = (param: string, value: unknown) =>
  param === "prompt" ? String(value) : `${wordsOf(param)} ${String(value)}`;

function captionOf({ position, values, job }: BatchPlace): string {
  const told = Object.entries(values)
    .filter(([param]) => !isPicture({ param }))
    .map(([param, value]) => textOf(param, value));
  const { prompt } = job?.params ?? {};
  const words = told.length > 0 ? told.join(", ") : typeof prompt === "string" ? prompt : (job?.kind ?? "");
  return `${position + 1}. ${words.replaceAll("_", " ")}`;
}

type Read = (imageId: string, sidePx: number) => Promise<Buffer | null>;

async function drawLabels(
  services: Services,
  labels: readonly Label[],
  read: Read,
): Promise<readonly OverlayOptions[]> {
  const draw = await openLabels(services).catch((error: unknown) => {
    // A folder that cannot be written, for one: the pictures are what a sheet is for.
    services.log.warn({ err: error }, "a contact sheet has no labels");
    return null;
  });
  const overlays: OverlayOptions[] = [];
  for (const { left, top, text, imageId, ...box } of labels) {
    const words = writable(text);
    const picture = imageId === null ? null : await read(imageId, Math.min(box.widthPx, box.heightPx));
    const input = picture ?? (words === "" || draw === null ? null : await draw(words, box));
    if (input) overlays.push({ input, left, top });
  }
  return overlays;
}

interface Picture {
  readonly ownerId: string;
  readonly imageId: string;
  readonly sidePx: number;
}

/** A picture on a square of paper, whole; null where its file is missing. */
async function readPicture(
  services: Services,
  { ownerId, imageId, sidePx }: Picture,
): Promise<Buffer | null> {
  try {
    const { body } = await openFile(services, { ownerId, id: imageId, variant: "preview" });
    if (!body) return null;
    return await sharp(await buffer(body))
      .resize(sidePx, sidePx, { fit: "contain", background: paper })
      .flatten({ background: paper })
      .png()
      .toBuffer();
  } catch (error) {
    if (isAppError(error) && (error.code === "not_found" || error.code === "file_missing")) return null;
    throw error;
  }
}
