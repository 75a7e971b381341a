"use client";
import { useQueries } from "@tanstack/react-query";
import { GripVertical, X } from "lucide-react";
import { useFormatter, useTranslations } from "next-intl";
import { useState } from "react";
import { api } from "../client/api.ts";
import { failureOf } from "../ui/failures.ts";
import { keys, type OfferedWorkflow, useImage, useIsGone } from "../client/queries.ts";
import { Warning } from "../jobs/offer-line.tsx";
import { Picture, useImageName } from "../pictures/picture.tsx";
import { Button, IconButton } from "../ui/button.tsx";
import { Slider } from "../ui/slider.tsx";
import { moveItem, useReorder } from "../ui/reorder.ts";
import { Select } from "../ui/select.tsx";
import { createForm, useForm } from "./form.ts";
import { type PictureRole, type Reference } from "../client/references.ts";
import { type PictureProblem, pictureProblem, placesFor, rolesOf } from "./references.ts";
import { nearestAllowed, resolveSetting } from "../client/numbers.ts";

/** Whether one of the pictures of the form was deleted: with it nothing can be made. */
export function useHasGone(): boolean {
  const { references } = useForm();
  return useQueries({
    queries: references.map(({ imageId }) => ({
      queryKey: keys.image(imageId),
      queryFn: () => api.images.get.query({ id: imageId }),
    })),
    combine: (answers) =>
      answers.some(({ error }) => error !== null && failureOf(error).code === "not_found"),
  });
}

/** Why the pictures and the workflow do not fit. */
export function usePictureProblemText(): (problem: PictureProblem) => string {
  const t = useTranslations("create.references");
  return (problem) => {
    const { workflow } = problem;
    switch (problem.what) {
      case "noPictures":
        return t("problems.noPictures", { workflow });
      case "noRole":
      case "pictureNeeded":
        return t(`problems.${problem.what}`, { workflow, role: t(`roles.${problem.role}`) });
      case "tooManyPictures":
        return t("problems.tooMany", { workflow, role: t(`roles.${problem.role}`), most: problem.most });
    }
  };
}

/** How much the pictures of a role count, where the workflow lets one say it. */
function Strength({ role, chosen }: { readonly role: PictureRole; readonly chosen: OfferedWorkflow }) {
  const t = useTranslations("create.references");
  const { settings } = useForm();
  const name = `${role}Strength` as const;
  const param = chosen.params[name];
  const value = resolveSetting(param, settings[chosen.name]?.[name]);
  if (param === undefined || value === undefined) return null;
  const set = (next: number) =>
    createForm.setFor(chosen.name, { [name]: nearestAllowed(Number(next.toFixed(2)), param) });
  return (
    <div className="flex items-center gap-3 ps-10 pb-1.5">
      <span aria-hidden className="tabular shrink-0 text-xs text-quiet">
        {t("strength", { value })}
      </span>
      <div className="max-w-64 min-w-0 flex-1">
        <Slider
          label={t("strengthOf", { role: t(`roles.${role}`) })}
          value={value}
          min={param.min ?? 0}
          max={param.max ?? 1}
          step={0.05}
          onChange={set}
        />
      </div>
    </div>
  );
}

interface RowProps {
  readonly reference: Reference;
  readonly place: number;
  readonly count: number;
  readonly chosen: OfferedWorkflow;
  readonly grip: ReturnType<ReturnType<typeof useReorder>["handlersFor"]>;
  readonly className: string;
}

function Row({ reference: { imageId, role }, place, count, chosen, grip, className }: RowProps) {
  const t = useTranslations("create.references");
  const { data: image } = useImage(imageId);
  const isGone = useIsGone(imageId);
  const nameOf = useImageName();
  const name = image === undefined ? t("roles.reference") : nameOf(image);
  const { references } = useForm();
  const offered = rolesOf(chosen);
  const roles = offered.includes(role) ? offered : [role, ...offered];
  const isFirst = references.find((one) => one.role === role)?.imageId === imageId;
  const change = (next: readonly Reference[]) => createForm.set({ references: next });
  return (
    <li className={className}>
      <div className="flex items-center gap-2 py-1">
        <IconButton
          label={t("move", { name, place, count })}
          keys="ArrowUp ArrowDown"
          {...grip}
          className="-ms-2 cursor-grab touch-none active:cursor-grabbing"
        >
          <GripVertical aria-hidden />
        </IconButton>
        <span className="relative size-11 shrink-0 overflow-hidden rounded-control bg-well ring-1 ring-line">
          {isGone ? null : (
            <Picture
              imageId={imageId}
              variant="thumbnail"
              thumbhash={image?.thumbhash}
              alt={name}
              className="size-full"
            />
          )}
        </span>
        <div className="w-44 min-w-0 max-sm:flex-1">
          <Select
            label={t("role", { name })}
            hideLabel
            value={role}
            options={roles.map((value) => ({
              value,
              title: t(`roles.${value}`),
              description: t(`does.${value}`),
              warning: placesFor(chosen, value) === 0 ? t("notHere", { workflow: chosen.title }) : null,
            }))}
            onChange={(value) => {
              const next = roles.find((one) => one === value);
              if (next !== undefined)
                change(references.map((one) => (one.imageId === imageId ? { imageId, role: next } : one)));
            }}
          />
        </div>
        <span className="min-w-0 flex-1 truncate text-xs text-quiet max-sm:hidden">{name}</span>
        <IconButton
          label={t("remove", { name })}
          onClick={() => change(references.filter((one) => one.imageId !== imageId))}
          className="-me-2"
        >
          <X aria-hidden />
        </IconButton>
      </div>
      {isGone ? (
        <div className="ps-10 pb-1.5">
          <Warning>{t("gone")}</Warning>
        </div>
      ) : null}
      {isFirst ? <Strength role={role} chosen={chosen} /> : null}
    </li>
  );
}

const mostSwitches = 3;

interface ListProps {
  readonly chosen: OfferedWorkflow;
  readonly offered: readonly OfferedWorkflow[];
}

/** What is in the way, with the workflows that take the pictures as they are. */
function Problem({ problem, offered }: { readonly problem: PictureProblem } & Pick<ListProps, "offered">) {
  const t = useTranslations("create.references");
  const textOf = usePictureProblemText();
  const { references } = useForm();
  const able = offered.filter((one) => pictureProblem(references, one) === null).slice(0, mostSwitches);
  return (
    <div role="status" className="flex flex-col gap-2 pt-1">
      <Warning>{textOf(problem)}</Warning>
      {able.length === 0 || problem.what === "pictureNeeded" ? null : (
        <div className="flex flex-wrap gap-2">
          {able.map(({ name, title }) => (
            <Button key={name} size="small" onClick={() => createForm.set({ workflow: name })}>
              {t("switchTo", { workflow: title })}
            </Button>
          ))}
        </div>
      )}
    </div>
  );
}

/** What the workflow takes, before anything is chosen. */
export function useTakesText(chosen: OfferedWorkflow): string {
  const t = useTranslations("create.references");
  const format = useFormatter();
  const parts = rolesOf(chosen).map((role) =>
    t("places", { role: t(`roles.${role}`), count: placesFor(chosen, role) }),
  );
  return parts.length === 0
    ? t("problems.noPictures", { workflow: chosen.title })
    : t("takes", { workflow: chosen.title, what: format.list(parts) });
}

/** The pictures that go with the prompt; nothing while none is chosen and none is needed. */
export function ReferenceList({ chosen, offered }: ListProps) {
  const t = useTranslations("create.references");
  const { references } = useForm();
  const [said, setSaid] = useState("");
  const count = references.length;
  const ids = references.map(({ imageId }) => imageId);
  const takes = useTakesText(chosen);
  const { list, rowClass, handlersFor } = useReorder(ids, (from, to) => {
    if (to < 0 || to >= count || from === to) return;
    createForm.set({ references: moveItem(references, from, to) });
    setSaid(t("moved", { place: to + 1, count }));
  });
  const problem = pictureProblem(references, chosen);
  if (count === 0 && problem === null) return null;
  return (
    <section aria-label={t("title")} className="mx-4 border-t border-line py-2 sm:mx-5">
      <ul ref={list} aria-label={t("title")}>
        {references.map((reference, at) => (
          <Row
            key={reference.imageId}
            reference={reference}
            place={at + 1}
            count={count}
            chosen={chosen}
            grip={handlersFor(reference.imageId)}
            className={rowClass(reference.imageId, at)}
          />
        ))}
      </ul>
      {problem === null ? (
        <p className="text-xs text-quiet">{takes}</p>
      ) : (
        <Problem problem={problem} offered={offered} />
      )}
      <p aria-live="polite" className="sr-only">
        {said}
      </p>
    </section>
  );
}
