"use client";
import { useTranslations } from "next-intl";
import type { CSSProperties } from "react";
import type { BatchPlace, BatchView, BatchWithJobs } from "@atelier/server/batches";
import { sizeOfJob, promptsOf } from "../jobs/params.ts";
import { useWorkflowTitle } from "../jobs/text.ts";
import { shownKind } from "../client/kinds.ts";
import { Picture } from "../pictures/picture.tsx";
import { Cell } from "./cell.tsx";

type Value = BatchPlace["values"][string];
type Axis = NonNullable<BatchView["axes"]>[number];

interface Labelled {
  readonly param: string;
  readonly value: Value;
  /** Pictures that vary with it, such as the other pieces of a look. */
  readonly further?: readonly string[];
}

/** The pictures that stand along a value of an axis; an empty one is none. */
const furtherOf = ({ along = [] }: Axis, at: number): string[] =>
  along.flatMap(({ param, values }) => {
    const value = values[at];
    return isPicture(param) && typeof value === "string" && value !== "" ? [value] : [];
  });

const isPicture = (param: string) => /(?:^|\.)inputs\./.test(param);

/** Names of axes and their values in words. */
function useAxisTexts() {
  const t = useTranslations("batches");
  const titleOf = useWorkflowTitle();
  const axis = (param: string) => {
    const key = `axes.${param.replace(/^steps\.\d\./, "").replace(".", "_")}` as "axes.seed";
    return t.has(key) ? t(key) : param;
  };
  const value = ({ param, value: own }: Labelled): string => {
    if (isPicture(param)) return axis(param);
    if (["prompt", "negativePrompt", "size", "style"].includes(param)) return String(own);
    if (param === "workflow") return titleOf(String(own));
    if (param === "model") return titleOf(`cloud/${String(own)}`);
    return `${axis(param)} ${String(own)}`;
  };
  return { axis, value };
}

/** A value of an axis: a picture as a picture, else its words. */
function AxisValue(label: Labelled) {
  const { value } = useAxisTexts();
  const text = value(label);
  return isPicture(label.param) ? (
    <span className="flex flex-wrap gap-1">
      {[String(label.value), ...(label.further ?? [])].map((imageId) => (
        <Picture
          key={imageId}
          imageId={imageId}
          variant="thumbnail"
          alt={text}
          fit="contain"
          className="size-16 max-sm:size-12"
        />
      ))}
    </span>
  ) : (
    <span title={text} className="line-clamp-3 text-xs break-words">
      {text}
    </span>
  );
}

/** The shape of all cells: that of the first result, which the others mostly share. */
function shapeOf({ jobs }: Pick<BatchWithJobs, "jobs">): CSSProperties {
  const first = jobs.find(({ job }) => (job?.outputs.length ?? 0) > 0)?.job ?? jobs[0]?.job;
  const { widthPx, heightPx } = first ? sizeOfJob(first) : { widthPx: 1, heightPx: 1 };
  // Between 2:3 and 3:2, so that a panorama leaves room for words.
  return { aspectRatio: Math.min(1.5, Math.max(2 / 3, widthPx / heightPx)) };
}

interface GridProps {
  readonly batch: BatchWithJobs;
  readonly openId: string | null;
  readonly onOpen: (imageId: string) => void;
}

/** The values of all axes but the last, as they stand at each row. */
function rowsOf({ jobs }: Pick<BatchWithJobs, "jobs">, columns: number): (readonly BatchPlace[])[] {
  return Array.from({ length: Math.ceil(jobs.length / columns) }, (_, row) =>
    jobs.slice(row * columns, (row + 1) * columns),
  );
}

const isShownIn = ({ job }: BatchPlace, openId: string | null) =>
  openId !== null && job?.outputs[0]?.imageId === openId;

/** Two axes or more: the last one goes from left to right, those before it from top to bottom. */
function AxesTable({ batch, axes, openId, onOpen }: GridProps & { readonly axes: readonly Axis[] }) {
  const { axis, value } = useAxisTexts();
  const last = axes.at(-1);
  if (last === undefined) return null;
  const columns = last.values.length;
  const shape = shapeOf(batch);
  const nameOf = ({ values }: BatchPlace) =>
    Object.entries(values)
      .filter(([param, own]) => own !== "" || !isPicture(param))
      .map(([param, own]) => value({ param, value: own }))
      .join(", ");
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
    <div tabIndex={0} className="-mx-4 overflow-x-auto px-4 sm:-mx-6 sm:px-6 wide:-mx-8 wide:px-8">
      <table
        className="-mx-2 table-fixed border-separate border-spacing-2"
        style={{ width: `min(100%, ${96 + columns * 320}px)`, minWidth: 80 + columns * 128 }}
      >
        <thead>
          <tr>
            <th scope="col" className="w-24 max-sm:w-16">
              <span className="sr-only">
                {axes
                  .slice(0, -1)
                  .map(({ param }) => axis(param))
                  .join(", ")}
              </span>
            </th>
            {last.values.map((own, at) => (
              // oxlint-disable-next-line react/no-array-index-key -- two looks may begin with the same piece
              <th key={at} scope="col" className="pb-1 text-start align-bottom font-medium">
                <AxisValue param={last.param} value={own} further={furtherOf(last, at)} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rowsOf(batch, columns).map((places) => (
            <tr key={places[0]?.position}>
              <th
                scope="row"
                className="sticky inset-s-0 z-1 bg-paper pe-2 text-start align-middle font-medium"
              >
                <span className="flex flex-col gap-1">
                  {axes.slice(0, -1).map(({ param }) => (
                    <AxisValue key={param} param={param} value={places[0]?.values[param] ?? ""} />
                  ))}
                </span>
              </th>
              {places.map((place) => (
                <td key={place.position} className="p-0">
                  <div style={shape}>
                    <Cell
                      place={place}
                      name={nameOf(place)}
                      isOpen={isShownIn(place, openId)}
                      onOpen={onOpen}
                    />
                  </div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A list, or one axis: cells that wrap, each with its words below it. */
function Places({ batch, openId, onOpen }: GridProps) {
  const jobs = useTranslations("jobs");
  const { value } = useAxisTexts();
  const [axis] = batch.axes ?? [];
  const shape = shapeOf(batch);
  const captionOf = ({ values, job, position }: BatchPlace): string => {
    const own = axis && values[axis.param];
    if (axis && own !== undefined) return value({ param: axis.param, value: own });
    if (job === null) return String(position + 1);
    return promptsOf(job.params).prompt || jobs(`kinds.${shownKind(job)}`);
  };
  // What is the same everywhere is the title of the batch, or says nothing.
  const isCaptioned = new Set(batch.jobs.map(captionOf)).size > 1;
  return (
    <ul className="grid grid-cols-[repeat(auto-fill,minmax(144px,1fr))] gap-3 sm:grid-cols-[repeat(auto-fill,minmax(208px,1fr))]">
      {batch.jobs.map((place) => {
        const caption = captionOf(place);
        return (
          <li key={place.position} className="flex min-w-0 flex-col gap-1">
            <div style={shape}>
              <Cell
                place={place}
                name={`${place.position + 1}, ${caption}`}
                isOpen={isShownIn(place, openId)}
                onOpen={onOpen}
              />
            </div>
            {isCaptioned ? (
              <p title={caption} className="truncate text-xs text-quiet">
                {caption}
              </p>
            ) : null}
          </li>
        );
      })}
    </ul>
  );
}

export function BatchGrid(props: GridProps) {
  const axes = props.batch.axes ?? [];
  return axes.length > 1 ? <AxesTable {...props} axes={axes} /> : <Places {...props} />;
}
